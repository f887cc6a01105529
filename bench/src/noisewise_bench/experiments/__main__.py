"""Run a study: ``python -m noisewise_bench.experiments NAME``; also asynchronous, audit, coverage,
incumbent, kinds, kinds-tuning, mismatch, mixed, outliers, policies, seeds, select, small and
warm-start."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from noisewise_bench.experiments import (
    ablation,
    asynchronous,
    audit,
    auto,
    baselines,
    confirmed,
    coverage,
    deviations,
    estimators,
    flatness,
    hindsight,
    incumbent,
    kinds,
    kinds_tuning,
    ladder,
    many,
    mismatch,
    mixed,
    opening,
    optuna_samplers,
    outliers,
    policies,
    qlognei,
    relatives,
    scale,
    seeds,
    select,
    small,
    tasks,
    warm_start,
)
from noisewise_bench.experiments.study import Scope, Study, execute, write
from noisewise_bench.names import BenchError, numbers

STUDIES: dict[str, Study] = {
    module.STUDY.name: module.STUDY
    for module in (
        *(ablation, auto, baselines, confirmed, deviations, estimators, flatness),
        *(hindsight, ladder, many, opening, optuna_samplers),
        *(qlognei, relatives, scale, tasks),
    )
}
#: Studies whose rows are not those of a campaign.
ALONE: dict[str, Callable[[list[str]], int]] = {
    asynchronous.NAME: asynchronous.main,
    audit.NAME: audit.main,
    "coverage": coverage.main,
    small.NAME: small.main,
    "mismatch": mismatch.main,
    "incumbent": incumbent.main,
    kinds.NAME: kinds.main,
    kinds_tuning.NAME: kinds_tuning.main,
    "mixed": mixed.main,
    outliers.NAME: outliers.main,
    "warm-start": warm_start.main,
    "seeds": seeds.main,
    select.NAME: select.main,
    policies.NAME: policies.main,
}


def main(argv: list[str] | None = None) -> int:
    argv = sys.argv[1:] if argv is None else argv
    if argv[:1] and argv[0] in ALONE:
        return ALONE[argv[0]](argv[1:])
    parser = argparse.ArgumentParser(prog="noisewise_bench.experiments", description=__doc__)
    parser.add_argument("study", choices=sorted([*STUDIES, *ALONE]), help="which study")
    parser.add_argument("--instances", help="such as 1-5")
    parser.add_argument("--dimensions", help="such as 10,40")
    parser.add_argument("--seeds", help="noise seeds, such as 1-2")
    parser.add_argument("--db", type=Path, help="rows, kept to resume (out/NAME.sqlite)")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the page (out)")
    parser.add_argument("--workers", type=int, help="processes (all cores)")
    args = parser.parse_args(argv)
    study = STUDIES[args.study]
    try:
        scope = Scope(
            *(
                tuple(numbers(given, part)) if (given := getattr(args, part)) else default
                for part, default in vars(study.scope).items()
            )
        )
        db = args.db or Path("out") / f"{study.name}.sqlite"
        rows = execute(study, scope, db, args.workers)
    except BenchError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    page = write(study, scope, rows, args.out)
    print(page.read_text())
    return 0


if __name__ == "__main__":
    sys.exit(main())
