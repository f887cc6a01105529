"""``python -m noisewise_bench.reliability``: every table of docs/reliability.md."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

import noisewise as nw
from noisewise_bench.reliability import (
    answers,
    disk,
    faults,
    fuzz,
    hostile,
    kills,
    load,
    plain,
    resume,
    shared,
    throughput,
    utilisation,
    workers,
)


def _utilisation(args: argparse.Namespace) -> Iterator[str]:
    yield "| method | evaluation times | utilisation of 8 workers |"
    yield "|---|---|---|"
    for m in utilisation.measure(args.methods, args.dimension, args.budget, args.seconds):
        yield f"| {m.method} | {m.times} | {m.utilisation:.0%} |"


def _plain(args: argparse.Namespace) -> Iterator[str]:
    yield from plain.table(plain.timed(args.places, args.waves, args.seconds))
    if args.grown:
        yield from list(plain.table(iter([plain.grown(args.grown, args.seconds)])))[2:]


def _price(args: argparse.Namespace) -> Iterator[str]:
    yield "| method | noise | workers wait | log10 regret, against batches | utilisation |"
    yield "|---|---|---|---|---|"
    for p in utilisation.price(args.dimension, 200 * args.dimension, args.seeds):
        yield (
            f"| {p.method} | {p.noise} | {p.way} | {p.regret:+.2f} ± {p.error:.2f} "
            f"| {p.utilisation:.0%} |"
        )


def _scale(args: argparse.Namespace) -> Iterator[str]:
    yield "| workers | evaluations | clock over greedy | busy | regret | CPU ms per evaluation |"
    yield "|---|---|---|---|---|---|"
    for n in args.workers:
        s = utilisation.scaled(n, args.waves)
        yield (
            f"| {s.workers} | {s.evaluations} | {s.clock:.3f} | {s.busy:.0%} | {s.regret:.2g} "
            f"| {s.cost:.2f} |"
        )


def _kills(args: argparse.Namespace) -> Iterator[str]:
    share = max(1, args.kills // 2)
    cases = ((1, "kill -9", share), (4, "kill -9", args.kills - share), (4, "Ctrl-C", share // 2))
    seed = args.seed
    return kills.table(kills.torture(w, fault, n, seed=seed + w) for w, fault, n in cases if n)


def _methods(args: argparse.Namespace) -> Iterator[str]:
    return kills.table(
        kills.torture(1 + i % 2, "kill -9", args.kills, seed=args.seed + i, method=name)
        for i, name in enumerate(args.methods)
    )


def _resume(args: argparse.Namespace) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        yield from resume.table(resume.cases(args.methods, args.ways, args.states), Path(folder))


def _files(args: argparse.Namespace) -> Iterator[str]:
    return hostile.table(hostile.attack(args.files, args.seed))


def _faults(args: argparse.Namespace) -> Iterator[str]:
    return faults.table(
        faults.inject(kind, places, args.runs, args.seed) for kind, places in faults.cases()
    )


def _answers(args: argparse.Namespace) -> Iterator[str]:
    return answers.table(
        answers.attack(name, args.methods, args.runs, args.seed) for name in answers.ATTACKS
    )


def _fuzz(args: argparse.Namespace) -> Iterator[str]:
    return fuzz.table(fuzz.fuzz(name, args.calls, args.seed) for name in fuzz.FUNCTIONS)


def _workers(args: argparse.Namespace) -> Iterator[str]:
    cases = {"processes": (4, 600, 0.1), "dask": (2, 200, 0.03), "ray": (2, 200, 0.03)}
    return workers.table(workers.survive(where, *cases[where]) for where in args.where)


def _disk(args: argparse.Namespace) -> Iterator[str]:
    rng = np.random.default_rng(args.seed)
    return disk.table(
        faults
        for faults in (
            disk.full_disk(args.times, rng),
            disk.read_only(args.times),
            disk.rival(args.times, rng),
            disk.damaged(50 * args.times, rng),
        )
    )


def _shared(args: argparse.Namespace) -> Iterator[str]:
    return shared.table(
        shared.survive(where, args.kills, args.seed, args.budget) for where in args.where
    )


def _throughput(args: argparse.Namespace) -> Iterator[str]:
    return throughput.table(throughput.measure(args.trials, tuple(args.workers)))


def _join(args: argparse.Namespace) -> Iterator[str]:
    return throughput.joined_table(throughput.join(tuple(args.trials), tuple(args.where)))


def _seed(sub: argparse.ArgumentParser, default: int) -> None:
    sub.add_argument("--seed", type=int, default=default, help=f"({default})")


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m noisewise_bench.reliability")
    commands = parser.add_subparsers(required=True)

    def command(name: str, run: object, help: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=help)
        sub.set_defaults(run=run)
        return sub

    sub = command("utilisation", _utilisation, "are eight workers busy?")
    sub.add_argument("--methods", nargs="+", default=utilisation.METHODS, help="(auto cma-es)")
    sub.add_argument("--dimension", type=int, default=10, help="coordinates (10)")
    sub.add_argument("--budget", type=int, default=320, help="evaluations of each run (320)")
    sub.add_argument("--seconds", type=float, default=0.6, help="of an evaluation (0.6)")
    sub = command("plain", _plain, "real workers against plain futures of the same calls")
    sub.add_argument("--places", nargs="+", choices=tuple(plain.PLACES), default=plain.PLACES)
    sub.add_argument("--waves", type=int, default=20, help="evaluations per worker (20)")
    sub.add_argument("--seconds", type=float, default=1.0, help="of an evaluation (1)")
    sub.add_argument("--grown", type=int, default=400, help="evaluations of a cluster that grows")
    sub = command("price", _price, "what it costs that nobody waits, on a virtual clock")
    sub.add_argument("--dimension", type=int, default=10, help="coordinates (10)")
    sub.add_argument("--seeds", type=int, default=8, help="runs per function (8)")
    sub = command("scale", _scale, "thousands of workers, on a virtual clock")
    sub.add_argument("--workers", type=int, nargs="+", default=[1000], help="(1000)")
    sub.add_argument("--waves", type=int, default=60, help="evaluations per worker (60)")
    sub = command("kills", _kills, "kill the driver at random moments")
    sub.add_argument("--kills", type=int, default=200, help="kill -9 in all (200)")
    _seed(sub, 0)
    sub = command("methods", _methods, "kill the driver of every method")
    sub.add_argument("--methods", nargs="+", default=nw.list_methods(), help="(all)")
    sub.add_argument("--kills", type=int, default=10, help="kill -9 for each method (10)")
    _seed(sub, 0)
    sub = command("resume", _resume, "resume every method from every evaluation")
    sub.add_argument("--methods", nargs="+", choices=nw.list_methods(), help="(all)")
    sub.add_argument("--ways", nargs="+", choices=tuple(resume.WAYS), help="(all)")
    sub.add_argument("--states", nargs="+", choices=tuple(resume.STATES), help="in the file (all)")
    sub = command("workers", _workers, "kill workers during evaluations")
    sub.add_argument("--where", nargs="+", choices=workers.WHERE, default=workers.WHERE)
    sub = command("shared", _shared, "kill processes, connections and machines of a shared run")
    sub.add_argument(
        "--where",
        nargs="+",
        choices=("sqlite", "postgres", "machines"),
        default=("sqlite", "postgres"),
        help="machines: two network namespaces, which takes root (sqlite postgres)",
    )
    sub.add_argument("--kills", type=int, default=200, help="on each database (200)")
    sub.add_argument("--budget", type=int, default=shared.BUDGET, help="of each run (400)")
    _seed(sub, 0)
    sub = command("throughput", _throughput, "trials a second of a shared run, beside Optuna")
    sub.add_argument("--trials", type=int, default=640, help="in each case (640)")
    sub.add_argument("--workers", type=int, nargs="+", default=throughput.WORKERS, help="(1 8 64)")
    sub = command("join", _join, "how long a process takes to join a long shared run")
    sub.add_argument("--trials", type=int, nargs="+", default=(1000, 100_000), help="(1000 100000)")
    sub.add_argument("--where", nargs="+", choices=throughput.WHERE, default=throughput.WHERE)
    sub = command("disk", _disk, "full disks, bad paths, rivals, damaged files")
    sub.add_argument("--times", type=int, default=20, help="of each fault (20)")
    _seed(sub, 1)
    sub = command("files", _files, "load files that were made to do harm")
    sub.add_argument("--files", type=int, default=2000, help="with wrong fields (2000)")
    _seed(sub, 0)
    sub = command("faults", _faults, "objectives that misbehave")
    sub.add_argument("--runs", type=int, default=3, help="of each fault and place (3)")
    _seed(sub, 0)
    sub = command("answers", _answers, "values that mislead")
    sub.add_argument("--methods", nargs="+", default=answers.METHODS, help="(the first four)")
    sub.add_argument("--runs", type=int, default=10, help="of each method and size (10)")
    _seed(sub, 0)
    sub = command("fuzz", _fuzz, "random calls of the library")
    sub.add_argument("--calls", type=int, default=5000, help="of each function (5000)")
    _seed(sub, 0)
    command("load", lambda args: load.table(), "evaluations, coordinates, workers: many of each")
    args = parser.parse_args(argv)
    rows: Iterable[str] = args.run(args)
    for row in rows:
        print(row, flush=True)


if __name__ == "__main__":
    main()
