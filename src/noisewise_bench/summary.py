"""One table that a stranger can read, from the committed results of all studies of `auto`."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path

PAGES = ("README.md",)
BEGIN, END = "<!-- summary -->", "<!-- /summary -->"
_FEW = "20 and 50 per parameter, d <= 10"
#: What is shown, its name in the study of small budgets, and in the headline.
_ROWS = {
    "CMA-ES (`cma`)": ("peer/pycma", "pycma, full"),
    "CMA-ES with noise handling (`cma`)": ("", "pycma, uncertainty handling"),
    "LRA-CMA-ES (`cmaes`)": ("", "LRA-CMA-ES (cmaes; ours at d = 40)"),
    "five measurements per candidate": ("", "resampling, k = 5"),
    "TPE (Optuna)": ("peer/optuna-tpe", ""),
    "PyBADS": ("peer/pybads", ""),
    "Gaussian process (scikit-learn)": ("peer/plain-gp", ""),
    "random search": ("peer/random", ""),
}


def table(findings: Path, many: Mapping[str, tuple[float, ...]], lost: int, compared: int) -> str:
    """The table and the losses in Markdown. ``many`` has the two win rates of the headline, and
    ``lost`` of ``compared`` its comparisons are significant losses."""
    few = _few(findings / "small-1.csv")
    lines = [
        "| `auto` against | few evaluations | many, strong noise | many, weaker noise |",
        "|---|---:|---:|---:|",
    ]
    for label, (small, large) in _ROWS.items():
        wins = [few.get((_FEW, small)), *(many[large] if large else (None, None))]
        cells = ["" if rate is None else f"{rate:.0%}".replace("%", " %") for rate in wins]
        lines.append(f"| {label} | {' | '.join(cells)} |")
    product = few["multiplicative", "peer/optuna-tpe"]
    lines += [
        "",
        (
            "Where it loses: TPE is better where noise multiplies the value and evaluations are "
            f"few ({1 - product:.0%} of 50 problems); with five evaluations per parameter nobody "
            "is ahead; and tuned choices win some single tasks (significantly in "
            f"{lost} of {compared} comparisons)."
        ).replace("%", " %"),
    ]
    return "\n".join(lines)


def _few(path: Path) -> dict[tuple[str, str], float]:
    """Win rates at few evaluations, by problems and opponent."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    return {(row[0], row[1]): float(row[3]) for row in rows[1:]}
