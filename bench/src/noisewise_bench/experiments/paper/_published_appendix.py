"""Numbers of the paper's appendix on mechanism, diagnostics and probe."""

from __future__ import annotations

from typing import Final

#: F1: Pearson's r of misranking and dispersion, mean P, mean variance, mean Jensen gap.
MECHANISM: Final = (0.452, 0.0605, 0.0929, 0.0465)
#: F3: runs that RB-PEM won and lost against UH-CMA-ES, and one-sided Mann-Whitney p-values.
GOOD_BAD: Final = (193, 32)
SHAPE_P, CENTRE_P = 0.003, 0.001
#: F3: generations of the good and of the bad trace.
TRACE_ENDS: Final = (211, 129)
#: F4: candidate sets, and violations of the bounds.
SANDWICH: Final = (750, 0)
#: F5: problems on which each probe fired, of 54, and (W, L) of switching on the rank probe.
TRIGGERS: Final = {"rank probe": 49, "variance probe": 0}
RANK_SWITCH: Final = (39, 15)
#: F6 and F8: budget -> accuracy on the held-out instances.
ACCURACY: Final = {"200d": 0.730, "500d": 0.758}
#: F7: size of the probe -> area under the ROC curve.
PROBE_AUC: Final = {4: 0.714, 8: 0.746, 16: 0.757, 32: 0.732}
#: F10: batch -> wins of 50 over CMA-ES of (switch, warm start), and their ties.
MLP_WINS: Final = {4: ((27, 0), (27, 0)), 16: ((33, 0), (38, 0)), 256: ((0, 40), (0, 48))}
