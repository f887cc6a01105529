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
#: Problems and opponents of the study of small budgets that the text below the table names.
_CLOSE = (("multiplicative", "peer/optuna-tpe"), ("additive", "peer/botorch"))


def table(findings: Path, many: Mapping[str, tuple[float, ...]], lost: int, compared: int) -> str:
    """The table and the losses in Markdown. ``many`` has the two win rates of the headline, and
    ``lost`` of ``compared`` its comparisons are significant losses."""
    few = _few(findings / "small-1.csv")
    lines = [
        "| `auto` against | few evaluations | many, strong noise | many, weaker noise |",
        "|---|---:|---:|---:|",
    ]
    for label, (small, large) in _ROWS.items():
        wins = [few.get((_FEW, small), (None, 0))[0], *(many[large] if large else (None, None))]
        cells = ["" if rate is None else _percent(rate) for rate in wins]
        lines.append(f"| {label} | {' | '.join(cells)} |")
    tpe, botorch = (_against(few, *duel) for duel in _CLOSE)
    five = _percent(_botorch_with_five(findings / "small-2.csv"))
    lines += [
        "",
        f"Closest: `auto` wins {tpe} against TPE where noise multiplies the value and "
        f"evaluations are few, and {botorch} against BoTorch with additive noise and 20 "
        f"evaluations per parameter, but {five} of those with five parameters. With five "
        "evaluations per parameter nobody is ahead. Tuned choices win some single tasks "
        f"(significantly in {lost} of {compared} comparisons).",
    ]
    return "\n".join(lines)


def _against(few: Mapping[tuple[str, str], tuple[float, int]], problems: str, other: str) -> str:
    wins, n = few[problems, other]
    return f"{_percent(wins)} of {n} problems"


def _botorch_with_five(path: Path) -> float:
    """Win rate over BoTorch with five parameters and 20 evaluations for each."""
    with path.open(newline="", encoding="utf-8") as file:
        return next(
            float(row["botorch"])
            for row in csv.DictReader(file)
            if (row["d"], row["per d"]) == ("5", "20")
        )


def _percent(share: float) -> str:
    return f"{share:.0%}".replace("%", " %")


def _few(path: Path) -> dict[tuple[str, str], tuple[float, int]]:
    """Win rates at few evaluations and numbers of problems, by problems and opponent."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    return {(row[0], row[1]): (float(row[3]), int(row[2])) for row in rows[1:]}
