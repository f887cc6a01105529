"""Make the paper's figures and tables again: ``python -m noisewise_bench.reproduce``.

Runs what is missing, resumes after any interruption, and writes one page per artifact with its
tables (CSV) and figures (SVG) beside the published numbers.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from noisewise_bench.experiments.paper._artifact import SCALES, Artifact, Scale, write
from noisewise_bench.experiments.paper._registry import artifacts
from noisewise_bench.experiments.study import collect
from noisewise_bench.names import BenchError, one_of, split

#: A quick run must not overwrite what is committed.
OUT = {"quick": Path("out/reproduction-quick")}
COMMITTED = Path("docs/findings/reproduction")
INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m noisewise_bench.reproduce", description=(__doc__ or "").split("\n")[0]
    )
    add = parser.add_argument
    add("--list", action="store_true", help="name the artifacts and stop")
    add("--only", action="append", default=[], metavar="NAME", help="only these; may be repeated")
    add("--scale", choices=SCALES, default="full", help="how much to run (default: %(default)s)")
    add("--quick", action="store_true", help="the same as --scale quick: under five minutes")
    add(
        "--instances", type=int, metavar="N", help="at most N of the 15, and of seeds in proportion"
    )
    add("--db", type=Path, default=Path("out/reproduce.sqlite"), help="rows (%(default)s)")
    add("--out", type=Path, help=f"folder for the pages ({COMMITTED}; quick: {OUT['quick']})")
    add("--workers", type=int, help="processes (all cores; quick: one)")
    args = parser.parse_args(argv)
    scale = Scale("quick" if args.quick else args.scale, args.instances)
    try:
        if args.instances is not None and args.instances < 1:
            raise BenchError(f"--instances is {args.instances}, it takes a number of at least 1")
        chosen = _chosen(split(args.only))
        if args.list:
            print("\n".join(f"{a.name:24} {a.source}" for a in chosen))
            return 0
        # Starting processes takes longer than the few runs of a quick artifact.
        workers = args.workers or (1 if scale.name == "quick" else None)
        _make(chosen, scale, args.db, args.out or OUT.get(scale.name, COMMITTED), workers)
    except BenchError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"\nInterrupted; the same command goes on from {args.db}.", file=sys.stderr)
        return INTERRUPTED
    return 0


def _chosen(only: Sequence[str]) -> list[Artifact]:
    known = artifacts()
    if unknown := [name for name in only if name not in known]:
        raise BenchError(f"there is no artifact {unknown[0]!r}; known are {one_of(list(known))}")
    return [known[name] for name in only or known]


def _make(
    chosen: Sequence[Artifact], scale: Scale, db: Path, out: Path, workers: int | None
) -> None:
    for artifact in chosen:
        print(f"{artifact.name}: {artifact.source}", flush=True)
        rows = collect(artifact.grids(scale), db, workers)
        print(f"  {write(artifact, scale, rows, out)} written.", flush=True)


if __name__ == "__main__":
    sys.exit(main())
