"""``python -m noisewise_bench.mutants``: which of a sample of planted faults the tests notice."""

from __future__ import annotations

import argparse
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path

from noisewise_bench.mutants import faults, sample, trial
from noisewise_bench.mutants.known import Known
from noisewise_bench.mutants.mirror import Mirror
from noisewise_bench.mutants.reach import Reach

#: The repository of this file.
ROOT = Path(__file__).resolve().parents[4]
#: Faults that are noticed in so many seconds can take turns in the test suite.
_QUICK = 15.0
_COLUMNS = (trial.MIRRORED, trial.WIDER, trial.SURVIVED, trial.UNDECIDED)


def table(
    drawn: Sequence[faults.Fault], verdicts: dict[str, trial.Verdict], known: Known
) -> Iterator[str]:
    """One line for every room, and one for all: what became of its faults. Those that are undecided
    count as not noticed."""
    yield (
        "| room | planted | equivalent | noticed by mirrored tests | noticed by the wider suite "
        "| survived | undecided | noticed |"
    )
    yield "|---|---|---|---|---|---|---|---|"
    rooms = sorted({fault.room for fault in drawn})
    for name, chosen in [(r, [f for f in drawn if f.room == r]) for r in rooms] + [("all", drawn)]:
        different = [f for f in chosen if f.key not in known.equivalent]
        noticed = [verdicts[f.key].noticed for f in different if f.key in verdicts]
        counts = [noticed.count(n) for n in _COLUMNS]
        share = f"{(counts[0] + counts[1]) / len(noticed):.0%}" if noticed else "-"
        cells = [len(chosen), len(chosen) - len(different), *counts, share]
        yield f"| {name} | {' | '.join(map(str, cells))} |"


def _survivors(
    drawn: Sequence[faults.Fault], verdicts: dict[str, trial.Verdict], known: Known
) -> Iterator[str]:
    for fault in drawn:
        verdict = verdicts.get(fault.key)
        if verdict and not verdict.test and fault.key not in known.equivalent:
            yield f"{fault.key} {verdict.noticed} {fault}"


def _check(
    parser: argparse.ArgumentParser, args: argparse.Namespace, every: Sequence[faults.Fault]
) -> None:
    """End with a message where an argument is of no use."""
    if min(args.n, args.jobs, args.limit) < 1:
        parser.error("--n, --jobs and --limit must be at least 1")
    for option, given, known in (
        ("--room", args.room, {fault.room for fault in every}),
        ("--file", args.file, {Path(fault.path).name for fault in every}),
    ):
        if wrong := set(given or ()) - known:
            names = ", ".join(sorted(known))
            parser.error(f"{option} must be one of {names}, got {', '.join(sorted(wrong))}")
    if not args.log.parent.is_dir():
        parser.error(f"--log must be in a folder that exists, got {args.log}")


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m noisewise_bench.mutants", description=__doc__)
    parser.add_argument("--n", type=int, default=150, help="faults in the sample (150)")
    parser.add_argument("--seed", type=int, default=0, help="of the sample (0)")
    parser.add_argument("--room", action="append", help="sample of this room only (all)")
    parser.add_argument("--file", action="append", help="sample of files of this name only (all)")
    parser.add_argument("--mirrored", action="store_true", help="run mirrored tests only")
    parser.add_argument("--jobs", type=int, default=1, help="copies at work (1)")
    parser.add_argument("--limit", type=float, default=300.0, help="CPU time of tests, twice (300)")
    parser.add_argument("--log", type=Path, default=Path("mutants.jsonl"), help="verdicts so far")
    parser.add_argument("--reach", type=Path, help="which tests reach which lines; made if needed")
    parser.add_argument("--again", action="store_true", help="try those again that nothing noticed")
    parser.add_argument("--tried", action="store_true", help="those that --log holds, no sample")
    parser.add_argument("--list", action="store_true", help="print the sample and run nothing")
    parser.add_argument(
        "--learn", action="store_true", help="add those noticed quickly to the list"
    )
    parser.add_argument(
        "--mend", action="store_true", help="find moved lines of both lists; no sample"
    )
    args = parser.parse_args(argv)
    every = faults.library(ROOT / trial.LIBRARY)
    _check(parser, args, every)
    chosen = (
        fault
        for fault in every
        if (args.room is None or fault.room in args.room)
        and (args.file is None or Path(fault.path).name in args.file)
    )
    drawn = sample.draw(chosen, args.n, args.seed)
    if args.tried:
        tried = trial.read(args.log)
        drawn = [fault for fault in every if fault.key in tried]
    known = Known.read(ROOT)
    if args.mend:
        print(*known.mend(every), sep="\n")
        return
    if args.list:
        print(*(f"{fault.key} {fault}" for fault in drawn), sep="\n")
        return
    # In the background an interrupt may be ignored; either way copies and tests are cleared away.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    reach = Reach()
    if args.reach is not None:
        reach = Reach.read(args.reach)
        reach.measure(ROOT, Mirror(ROOT).tests(), args.jobs)
        reach.write(args.reach)
    verdicts = trial.run(
        [fault for fault in drawn if fault.key not in known.equivalent],
        ROOT,
        args.log,
        jobs=args.jobs,
        limit=args.limit,
        again=args.again,
        wider=not args.mirrored,
        reach=reach,
    )
    print(*table(drawn, verdicts, known), sep="\n")
    print("", *_survivors(drawn, verdicts, known), sep="\n")
    if args.learn:
        known.learn(
            [
                (f, verdicts[f.key].test)
                for f in drawn
                if f.key in verdicts and verdicts[f.key].seconds < _QUICK
            ]
        )


if __name__ == "__main__":
    main()
