"""Numbers printed in the paper, or in the results published with it, in one place."""

from __future__ import annotations

from typing import Final

from noisewise_bench import as_run

#: Table of the complete results: function -> method as run -> median log10 regret (d = 40,
#: B = 100d, 15 instances).
HIGH_MEDIANS: Final = as_run.PUBLISHED
