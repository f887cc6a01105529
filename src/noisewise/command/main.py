"""``noisewise``: tune any program from the command line.

Exit codes: 0 done; 1 the run ended without an answer; 2 the command was not understood or could
not be carried out; 130 interrupted (129 and 143: hung up, terminated), with a file from which the
same command goes on.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import noisewise as nw
from noisewise._check import integer
from noisewise.command import looking, table
from noisewise.command.job import Job, program_options, today, values
from noisewise.command.reading import Limit, Reader
from noisewise.command.runs import Kept
from noisewise.command.streams import prepare_streams, say
from noisewise.command.template import Template
from noisewise.command.tuning import Interrupted, Options, probe, tune
from noisewise.command.watch import Watch
from noisewise.errors import install
from noisewise.loop import interrupt
from noisewise.methods.method import TARGETS
from noisewise.problem.space import Space
from noisewise.report import facts, text
from noisewise.report.words import sentence

DONE, NO_ANSWER, WRONG, INTERRUPTED = 0, 1, 2, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code."""
    try:
        interrupt.release()
        prepare_streams()
        return _main(list(sys.argv[1:] if argv is None else argv))
    except KeyboardInterrupt:
        say("interrupted")
        return INTERRUPTED
    finally:
        interrupt.guard()


def _main(words: list[str]) -> int:
    if words[:1] == ["bench"]:
        return _bench(words[1:])
    # What follows -- belongs to the program and is never looked at.
    cut = words.index("--") if "--" in words else len(words)
    parser = _parser()
    if not words:
        parser.print_help(sys.stderr)
        return WRONG
    args, unknown = parser.parse_known_args(words[:cut])
    if unknown:
        hint = "" if cut < len(words) else " (the program to run belongs after --)"
        parser.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")
    args.program = words[cut + 1 :]
    try:
        code: int = args.function(args)
        sys.stdout.flush()
    except (ValueError, nw.CheckpointError, OSError, ImportError) as error:
        if isinstance(error, BrokenPipeError):  # whoever read our output has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return DONE
        say(str(error))
        return WRONG
    except Interrupted as interrupted:
        say(str(interrupted))
        return interrupted.code
    return code


def _bench(words: list[str]) -> int:
    try:
        from noisewise_bench.cli import main as bench

        return bench(words)
    except ModuleNotFoundError as error:
        what = f"bench needs the package noisewise-bench ({error.name} is missing)"
        say(f"{what}: {install('all', bench=True)}")
        return WRONG


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="noisewise",
        description="Minimise what can only be measured with noise, under a fixed budget.",
        epilog=" ".join((__doc__ or "").split("\n\n")[1].split()),
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"noisewise {nw.__version__}")
    commands = parser.add_subparsers(required=True, metavar="command")
    _tune_parser(commands)
    _probe_parser(commands)
    add = _command(commands, "show", "print the answer and the state of a run", looking.show)
    add("run", help="the run's file or URL")
    add("--json", action="store_true", help="all of it, for scripts")
    add = _command(commands, "report", "write one page about a run, with figures", looking.report)
    add("run", help="the run's file or URL")
    add("--out", metavar="FILE", help="the page (default: the run's file with .html)")
    add("--csv", metavar="FILE", help="also write every evaluation to this file, as a table")
    add = _command(commands, "watch", "serve the page of a run while it goes on", looking.watch)
    add("run", help="the run's file or URL; it may appear later")
    add("--port", type=int, default=0, metavar="N", help="port to serve on (default: any free one)")
    add = _command(
        commands, "audit", "say what a finished study of any tool is worth", looking.audit
    )
    looking.audit_options(add)
    add = _command(commands, "methods", "list the methods", looking.list_methods)
    add("--json", action="store_true", help="for scripts")
    commands.add_parser("bench", help="compare methods on noisy problems whose truth is known")
    return parser


def _command(commands: Any, name: str, help: str, function: Any, **more: Any) -> Any:
    description = f"{help[0].upper()}{help[1:]}."
    parser = commands.add_parser(
        name, help=help, description=description, allow_abbrev=False, **more
    )
    parser.set_defaults(function=function)
    return parser.add_argument


def _tune_parser(commands: Any) -> None:
    add = _command(
        commands,
        "tune",
        "tune a program's parameters; the value to minimise is the last number it prints",
        _tune,
        usage="noisewise tune --param NAME=RANGE ... --budget N [options] -- PROGRAM {NAME} ...",
        epilog="Defaults are in parentheses. After an interruption, the same command goes on.",
    )
    program_options(add)
    add("--budget", type=int, required=True, metavar="N", help="how often the program may run")
    add("--out", default="run.nw", metavar="FILE", help="the run's file (%(default)s)")
    add(
        "--storage",
        metavar="URL",
        help="a run in a database instead, which every process with this command takes part in: "
        "sqlite:///FILE#RUN on one machine, postgresql://HOST/DB#RUN on many",
    )
    add(
        "--method",
        default="auto",
        metavar="NAME",
        choices=looking.methods_to_tune(),
        help="method, of those that `noisewise methods` lists (auto)",
    )
    add(
        "--confirm",
        default="auto",
        metavar="N",
        help="evaluations kept to measure the answer (auto)",
    )
    add(
        "--target",
        default="mean",
        choices=TARGETS,
        help="what the answer's value means: its mean or its median (mean)",
    )
    add("--maximize", action="store_true", help="larger values are better")
    add(
        "--data",
        metavar="CSV",
        help="earlier measurements, not charged: columns for the parameters, value and perhaps se",
    )
    add("--skip-rows", action="store_true", help="leave out rows of --data that cannot be used")
    add(
        "--limit",
        action="append",
        default=[],
        metavar="KEY<=NUMBER",
        help="keep the mean of another key of --json within a limit, also KEY>=NUMBER; repeatable",
    )
    add(
        "--incumbent",
        action="extend",
        nargs="+",
        default=[],
        metavar="NAME=VALUE",
        help="today's setting, which is measured beside what is found and must be beaten by it",
    )
    add("--watch", action="store_true", help="serve the page of the run while it goes on")
    add("--batch", type=int, metavar="N", help="wait for N evaluations before the next N begin")
    add(
        "--max-time",
        type=float,
        metavar="SECONDS",
        help="end the search in time to measure the answer; the same command goes on",
    )


def _probe_parser(commands: Any) -> None:
    add = _command(
        commands,
        "probe",
        "measure how noisy a program is where the search would begin",
        _probe,
        usage="noisewise probe --param NAME=RANGE ... [options] -- PROGRAM {NAME} ...",
    )
    program_options(add)
    add("--n", type=int, metavar="N", help="points, each evaluated twice (default: a population)")
    add(
        "--budget",
        type=int,
        metavar="N",
        help="also say whether N evaluations are enough to tune it",
    )


def _job(args: argparse.Namespace, maximize: bool = False, limits: Sequence[str] = ()) -> Job:
    if not args.param:
        raise ValueError("--param must be given at least once, such as --param lr=1e-4..1e-1:log")
    if args.regex is not None and args.json is not None:
        raise ValueError("--regex and --json exclude each other, got both")
    if limits and args.json is None:
        raise ValueError("--limit needs --json, which says where the value is, got none")
    reader = Reader()
    if args.regex is not None or args.json is not None:
        kind = "regex" if args.regex is not None else "json"
        reader = Reader(kind, args.regex if kind == "regex" else args.json)
    space = Space.parse(args.param)
    template = Template(tuple(args.program), args.shell)
    seed = None if args.seed is None else integer("--seed", args.seed, 0, most=None)
    seeds = _seeds(template.seeded(space.names), args.seeds)
    start, limited = values("--start", space, args.start), tuple(map(Limit.parse, limits))
    incumbent = today(space, getattr(args, "incumbent", []))
    return Job(space, template, reader, maximize, seed, start, seeds, limited, incumbent)


def _seeds(seeded: bool, wanted: str | None) -> str | None:
    if wanted is not None and not seeded:
        raise ValueError(f"--seeds {wanted} needs {{seed}} in the command, got none")
    return (wanted or "independent") if seeded else None


def _options(args: argparse.Namespace) -> Options:
    return Options(args.timeout, args.retries, args.quiet, args.log)


def _data(args: argparse.Namespace, space: Space) -> Any:
    """Earlier measurements from a table; what is left out is said."""
    if args.data is None:
        return None
    found = table.read(args.data, space, args.skip_rows)
    for why in found.left_out:
        say(f"left out {args.data} {why}")
    return found.points(space)


@contextlib.contextmanager
def _watched(args: argparse.Namespace) -> Iterator[None]:
    """With ``--watch``, the page of the run is served meanwhile."""
    if not args.watch:
        yield
        return
    server = Watch(Kept(args.storage or args.out), version=nw.__version__)
    server.start()
    say(f"watch the run at {server.url}")
    try:
        yield
    finally:
        server.stop()


def _tune(args: argparse.Namespace) -> int:
    job, kept = _job(args, args.maximize, args.limit), Kept(args.storage or args.out)
    with _watched(args):
        opt = tune(
            job,
            kept,
            _options(args),
            budget=args.budget,
            workers=args.workers,
            method=args.method,
            confirm=args.confirm,
            target=args.target,
            data=_data(args, job.space),
            batch=args.batch,
            max_time=args.max_time,
        )
    found = facts.of(opt, args.out if kept.url is None else kept.name)
    if args.format == "json":
        print(json.dumps(text.as_data(found)))
    else:
        print(text.summary(found))
        print(f"\nMore: noisewise report {kept}")
    if not found.success:
        say(f"no answer: {found.message}; remove {kept} to begin again")
    return DONE if found.success else NO_ANSWER


def _probe(args: argparse.Namespace) -> int:
    report, failures = probe(_job(args), _options(args), args.n, args.workers)
    said = {
        "misranking": text.known(report.P),
        "kendall": text.known(report.kendall),
        "top_mu": text.known(report.top_mu),
        "evaluations": report.nfev,
        "failures": failures,
        "advice": report.advice,
        "noise": text.known(report.noise),
        "spread": text.known(report.spread),
        "seeds": report.seeds,
    }
    enough = ""
    if args.budget is not None:
        enough = report.enough(integer("--budget", args.budget, least=2))
        said["enough"] = enough
    if args.format == "json":
        print(json.dumps(said))
    else:
        print(sentence(report.advice))
        pairs = f"; {report.kendall:.0%} of the pairs changed order"
        changed = "" if math.isnan(report.kendall) else pairs
        print(f"{report.nfev} evaluations, {failures} failed{changed}.")
        if enough:
            print(f"{sentence(enough)}.")
    return DONE if failures < report.nfev else NO_ANSWER
