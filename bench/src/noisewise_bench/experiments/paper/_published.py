"""Numbers printed in the paper, or in the results published with it, in one place.

Wins and losses are pairs (W, L). Roles are those of `_methods`.
"""

from __future__ import annotations

from typing import Final

from noisewise_bench import as_run
from noisewise_bench.experiments.paper._methods import (
    CMA,
    RB,
    RB_LOG,
    RES5,
    RES10,
    SWITCH,
    SWITCH_LOG,
    UH,
)

_ROLES: Final = {"cma-es": CMA, "uh-cma-es(30)": UH, "rb-pem": RB, "probe-switch": SWITCH}
#: Complete results: function -> role -> median log10 regret of the best evaluated point
#: (d = 40, B = 100d, 15 instances).
HIGH_MEDIANS: Final = {
    function: {_ROLES[name]: median for name, median in row.items()}
    for function, row in as_run.PUBLISHED.items()
}

#: Figure 1: function -> role -> final median log10 regret of the best evaluated point.
CONVERGENCE: Final = {
    function: dict(zip((CMA, RES5, RES10, UH, RB), row, strict=True))
    for function, row in {
        110: (4.87, 4.77, 4.89, 5.35, 4.47),
        113: (2.87, 2.86, 2.98, 3.05, 2.77),
        116: (4.65, 4.73, 4.83, 4.99, 4.48),
        125: (0.26, 0.22, 0.29, 0.36, 0.12),
    }.items()
}

#: Figure 2: completed generations (UH-CMA-ES with another handler than in the tables), and the
#: median log10 regret of the best evaluated point over 225 runs.
DEPTH: Final = {CMA: 266, RES5: 53, RES10: 26, UH: 17, RB: 211}
DEPTH_REGRET: Final = {CMA: 1.917, RES5: 1.922, RES10: 1.923, UH: 1.920, RB: 1.910, SWITCH: 1.912}

#: Table 1: probe-and-switch against each competitor.
_RIVALS: Final = (RES10, RES5, UH, CMA, RB)
TABLE1: Final[dict[str, dict[str, tuple[int, int]]]] = {
    where: dict(zip(_RIVALS, counts, strict=True))
    for where, counts in {
        "d = 10": ((390, 60), (364, 86), (359, 91), (230, 210), (281, 169)),
        "d = 20": ((373, 77), (356, 94), (368, 82), (239, 195), (269, 181)),
        "d = 40": ((363, 87), (347, 103), (359, 91), (257, 170), (270, 180)),
        "lqr": ((50, 0), (46, 4), (46, 4), (31, 19), (23, 27)),
        "hpo-breast-cancer": ((50, 0), (37, 13), (25, 25), (20, 29), (22, 28)),
        "hpo-digits": ((49, 1), (40, 10), (31, 19), (17, 33), (17, 33)),
        "cartpole-ht": ((48, 2), (43, 6), (30, 19), (21, 23), (20, 24)),
        "cartpole": ((44, 6), (36, 14), (26, 24), (19, 30), (21, 27)),
        "pendulum": ((46, 4), (38, 11), (32, 18), (31, 19), (31, 19)),
    }.items()
}
TABLE1_TOTAL: Final = dict(
    zip(_RIVALS, ((1413, 237), (1307, 341), (1276, 373), (865, 728), (954, 688)), strict=True)
)
#: Its marks of significance: two-sided Wilcoxon signed-rank tests, raw.
TABLE1_STARS: Final[dict[str, dict[str, str]]] = {
    where: dict(zip(_RIVALS, ("*" * n for n in marks), strict=True))
    for where, marks in {
        "d = 10": (3, 3, 3, 0, 3),
        "d = 20": (3, 3, 3, 1, 3),
        "d = 40": (3, 3, 3, 2, 3),
        "lqr": (3, 3, 3, 0, 0),
        "hpo-breast-cancer": (3, 3, 0, 0, 0),
        "hpo-digits": (3, 3, 0, 1, 1),
        "cartpole-ht": (3, 3, 0, 0, 0),
        "cartpole": (3, 2, 0, 0, 0),
        "pendulum": (3, 3, 0, 0, 0),
    }.items()
}

#: Results published for RB-PEM against CMA-ES on all functions, best evaluated point, B = 200d,
#: the high-misranking 15: dimension -> (W, L).
HIGH_200D: Final = {10: (87, 138), 20: (110, 115), 40: (167, 58)}

#: Appendix F2: wins of 225 over CMA-ES (d = 40, B = 100d).
ABLATIONS: Final = {
    "K_max = 0": (149, 76),
    "K_max = 1": (141, 84),
    "K_max = 3": (140, 85),
    "B_boot = 16": (152, 73),
    "B_boot = 32": (141, 84),
    "B_boot = 64": (148, 77),
    "variance model": (161, 64),
}

#: Log-weight table: role -> win rate over CMA-ES at 20d, 50d, 100d, 200d (of 675, high 15).
LOG_WEIGHT_BUDGETS: Final = ("20d", "50d", "100d", "200d")
LOG_WEIGHTS: Final = {
    RB: (0.656, 0.695, 0.681, 0.622),
    RB_LOG: (0.637, 0.664, 0.677, 0.622),
    SWITCH: (0.637, 0.673, 0.652, 0.653),
    SWITCH_LOG: (0.612, 0.624, 0.653, 0.625),
}
#: The same page: wall-clock time as a multiple of CMA-ES' (d = 40, B = 100d).
OVERHEAD: Final = {RB: 1.70, RB_LOG: 1.64, SWITCH: 1.66, SWITCH_LOG: 1.62}

#: Appendix F9: (dimension, budget) -> rival -> (W, L) of RB-PEM.
ROBUSTNESS: Final = {
    (d, budget): dict(zip((UH, RES10, CMA), ((w, 225 - w) for w in wins), strict=True))
    for (d, budget), wins in {
        (40, "50d"): (195, 186, 148),
        (40, "100d"): (193, 175, 141),
        (40, "200d"): (212, 181, 161),
        (20, "50d"): (177, 185, 143),
        (20, "100d"): (186, 175, 118),
        (20, "200d"): (198, 183, 128),
    }.items()
}

#: RB-PEM against CMA-ES where most of the figures are: d = 40, B = 100d, high-misranking 15.
RB_OVER_CMA: Final = ROBUSTNESS[40, "100d"][CMA]

#: Appendix F12: role -> (W, n) over CMA-ES on the high-misranking 15 and on the complement.
REGIMES: Final = {
    RB: ((460, 675), (238, 675)),
    RB_LOG: ((457, 675), (252, 675)),
    SWITCH: ((440, 675), (320, 675)),
    SWITCH_LOG: ((441, 675), (311, 675)),
}
#: Appendix F12: the paper's name of a group -> its functions, (W, L) of RB-PEM with log weights.
FAMILIES: Final = {
    "Moderate Gaussian": (range(101, 110), (40, 95)),
    "Severe Gaussian": (range(110, 119), (87, 48)),
    "Severe Cauchy": (range(119, 125), (55, 35)),
    "Severe + multimodal": (range(125, 131), (61, 29)),
}
#: Results published for the tasks: task -> role -> median post-hoc cost over 50 seeds.
TASK_MEDIANS: Final = {
    "lqr": {RB: 6038.0, CMA: 7216.0, UH: 8000.0, RES5: 8631.0, RES10: 8913.0},
    "hpo-digits": {RB: 0.049, CMA: 0.045, UH: 0.040, RES5: 0.072, RES10: 0.090},
    "cartpole-ht": {RB: 145.0, CMA: 56.8, UH: 133.9, RES5: 515.8, RES10: 677.6},
    "pendulum": {RB: 1023.0, CMA: 1052.0},
}
