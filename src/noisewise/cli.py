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
from pathlib import Path
from typing import Any

import noisewise as nw
from noisewise import methods
from noisewise._check import integer
from noisewise.command import table
from noisewise.command.job import Job
from noisewise.command.limit import Limit
from noisewise.command.reading import Reader
from noisewise.command.streams import prepare_streams, write_page
from noisewise.command.template import Template
from noisewise.command.tuning import Interrupted, Options, probe, tune
from noisewise.command.watch import Watch
from noisewise.errors import install
from noisewise.parameters import FORM
from noisewise.report import facts, text
from noisewise.report.evaluations import as_csv
from noisewise.report.page import page
from noisewise.report.words import sentence
from noisewise.seeds import MODES
from noisewise.space import Space

DONE, NO_ANSWER, WRONG, INTERRUPTED = 0, 1, 2, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code."""
    prepare_streams()
    try:
        return _main(list(sys.argv[1:] if argv is None else argv))
    except KeyboardInterrupt:
        _say("interrupted")
        return INTERRUPTED


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
    except (ValueError, nw.CheckpointError, OSError) as error:
        if isinstance(error, BrokenPipeError):  # whoever read our output has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return DONE
        _say(str(error))
        return WRONG
    except Interrupted as interrupted:
        _say(str(interrupted))
        return interrupted.code
    return code


def _say(text: str) -> None:
    with contextlib.suppress(OSError):  # after a hang-up there is nobody to hear it
        print(f"noisewise: {text}", file=sys.stderr, flush=True)


def _bench(words: list[str]) -> int:
    try:
        from noisewise_bench.cli import main as bench

        return bench(words)
    except ModuleNotFoundError as error:
        _say(f"bench needs the extra 'bench' ({error.name} is missing): {install('bench')}")
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
    _show_parser(commands)
    _report_parser(commands)
    _watch_parser(commands)
    _methods_parser(commands)
    commands.add_parser("bench", help="compare methods on noisy problems whose truth is known")
    return parser


def _command(commands: Any, name: str, help: str, function: Any, **more: Any) -> Any:
    description = f"{help[0].upper()}{help[1:]}."
    parser = commands.add_parser(
        name, help=help, description=description, allow_abbrev=False, **more
    )
    parser.set_defaults(function=function)
    return parser.add_argument


def _program_options(add: Any) -> None:
    add("--param", action="append", default=[], metavar="NAME=RANGE", help=f"{FORM}; repeatable")
    add("--regex", metavar="PATTERN", help="the value is the last match (group 1 if there is one)")
    add("--json", metavar="KEY", help="the value is this key of JSON on stdout, such as eval.loss")
    add("--shell", action="store_true", help="give the command to the shell")
    add("--timeout", type=float, metavar="SECONDS", help="end an evaluation after this time")
    add(
        "--retries",
        type=int,
        default=0,
        metavar="N",
        help="further tries of a failed evaluation (0)",
    )
    add("--workers", type=int, default=1, metavar="N", help="evaluations at the same time (1)")
    add(
        "--start",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="where the search begins; repeatable",
    )
    add("--seed", type=int, metavar="N", help="seed of the search")
    add(
        "--seeds",
        choices=MODES,
        help="seeds that {seed} stands for: one per evaluation, or shared (independent)",
    )
    add("--log", metavar="FILE", help="append every evaluation to this file, as a line of JSON")
    add("--quiet", action="store_true", help="no progress on stderr")
    add("--format", choices=["text", "json"], default="text", help="form of the answer (text)")


def _tune_parser(commands: Any) -> None:
    add = _command(
        commands,
        "tune",
        "tune a program's parameters; the value to minimise is the last number it prints",
        _tune,
        usage="noisewise tune --param NAME=RANGE ... --budget N [options] -- PROGRAM {NAME} ...",
        epilog="Defaults are in parentheses. After an interruption, the same command goes on.",
    )
    _program_options(add)
    add("--budget", type=int, required=True, metavar="N", help="how often the program may run")
    add("--out", default="run.nw", metavar="FILE", help="the run's file (%(default)s)")
    add(
        "--method",
        default="auto",
        metavar="NAME",
        choices=_methods_to_tune(),
        help="method, of those that `noisewise methods` lists (auto)",
    )
    add(
        "--confirm",
        default="auto",
        metavar="N",
        help="evaluations kept to measure the answer (auto)",
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
    add("--watch", action="store_true", help="serve the page of the run while it goes on")
    add("--batch", type=int, metavar="N", help="wait for N evaluations before the next N begin")


def _methods_to_tune() -> list[str]:
    """All but `pem`, which needs a function or standard errors that no command line can give."""
    return [name for name in methods.names() if name != "pem"]


def _probe_parser(commands: Any) -> None:
    add = _command(
        commands,
        "probe",
        "measure how noisy a program is where the search would begin",
        _probe,
        usage="noisewise probe --param NAME=RANGE ... [options] -- PROGRAM {NAME} ...",
    )
    _program_options(add)
    add("--n", type=int, metavar="N", help="points, each evaluated twice (default: a population)")
    add(
        "--budget",
        type=int,
        metavar="N",
        help="also say whether N evaluations are enough to tune it",
    )


def _show_parser(commands: Any) -> None:
    add = _command(commands, "show", "print the answer and the state of a run", _show)
    add("run", help="the run's file")
    add("--json", action="store_true", help="all of it, for scripts")


def _report_parser(commands: Any) -> None:
    add = _command(commands, "report", "write one page about a run, with figures", _report)
    add("run", help="the run's file")
    add("--out", metavar="FILE", help="the page (default: the run's file with .html)")
    add("--csv", metavar="FILE", help="also write every evaluation to this file, as a table")


def _watch_parser(commands: Any) -> None:
    add = _command(commands, "watch", "serve the page of a run while it goes on", _watch)
    add("run", help="the run's file; it may appear later")
    add("--port", type=int, default=0, metavar="N", help="port to serve on (default: any free one)")


def _methods_parser(commands: Any) -> None:
    add = _command(commands, "methods", "list the methods", _methods)
    add("--json", action="store_true", help="for scripts")


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
    start, limited = _start(space, args.start), tuple(map(Limit.parse, limits))
    return Job(space, template, reader, maximize, seed, start, seeds, limited)


def _seeds(seeded: bool, wanted: str | None) -> str | None:
    if wanted is not None and not seeded:
        raise ValueError(f"--seeds {wanted} needs {{seed}} in the command, got none")
    return (wanted or "independent") if seeded else None


def _start(space: Space, texts: list[str]) -> dict[str, Any]:
    """Values by name of texts such as ``lr=0.01``."""
    found: dict[str, Any] = {}
    for given in texts:
        name, equals, value = given.partition("=")
        if not equals or name not in space.parameters:
            known = ", ".join(space.names)
            raise ValueError(f"--start must be NAME=VALUE with NAME of {known}, got {given!r}")
        try:
            found[name] = table.typed(space.parameters[name], value)
        except ValueError as error:
            raise ValueError(f"--start {name} {error}") from None
    try:
        space.encode(found)
    except ValueError as error:
        raise ValueError(f"--start {error}") from None
    return found


def _options(args: argparse.Namespace) -> Options:
    return Options(args.timeout, args.retries, args.quiet, args.log)


def _data(args: argparse.Namespace, space: Space) -> Any:
    """Earlier measurements from a table; what is left out is said."""
    if args.data is None:
        return None
    found = table.read(args.data, space, args.skip_rows)
    for why in found.left_out:
        _say(f"left out {args.data} {why}")
    return found.points(space)


@contextlib.contextmanager
def _watched(args: argparse.Namespace) -> Iterator[None]:
    """With ``--watch``, the page of the run is served meanwhile."""
    if not args.watch:
        yield
        return
    server = Watch(Path(args.out), version=nw.__version__)
    server.start()
    _say(f"watch the run at {server.url}")
    try:
        yield
    finally:
        server.stop()


def _tune(args: argparse.Namespace) -> int:
    job = _job(args, args.maximize, args.limit)
    with _watched(args):
        opt = tune(
            job,
            Path(args.out),
            _options(args),
            budget=args.budget,
            workers=args.workers,
            method=args.method,
            confirm=args.confirm,
            data=_data(args, job.space),
            batch=args.batch,
        )
    found = facts.of(opt, args.out)
    if args.format == "json":
        print(json.dumps(text.as_data(found)))
    else:
        print(text.summary(found))
        print(f"\nMore: noisewise report {args.out}")
    if not found.success:
        _say(f"no answer; remove {args.out} to begin again")
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


def _load(path: str) -> facts.Facts:
    return facts.of(nw.Optimizer.load(path), Path(path).name)


def _show(args: argparse.Namespace) -> int:
    found = _load(args.run)
    print(json.dumps(text.as_data(found)) if args.json else text.summary(found))
    return DONE


def _report(args: argparse.Namespace) -> int:
    out = Path(args.out) if args.out else Path(args.run).with_suffix(".html")
    if out.resolve() == Path(args.run).resolve():
        raise ValueError(f"--out must differ from the run's file, got {args.out}")
    found = _load(args.run)
    if args.csv is not None:
        table = Path(args.csv)
        if table.resolve() in (out.resolve(), Path(args.run).resolve()):
            raise ValueError(f"--csv must differ from the page and the run's file, got {table}")
        write_page(table, as_csv(found.evaluations, found.space))
    write_page(out, page(found, nw.__version__))
    print(out)
    return DONE


def _watch(args: argparse.Namespace) -> int:
    path = Path(args.run)
    if path.exists():
        nw.Optimizer.load(path)  # what cannot be shown is said at once
    else:
        _say(f"{path} does not exist yet; the page waits for it")
    port = integer("--port", args.port, 0, most=65535)
    server = Watch(path, port, nw.__version__)
    print(server.url, flush=True)
    with contextlib.suppress(KeyboardInterrupt):  # the usual way to end it
        server.serve()
    return DONE


def _methods(args: argparse.Namespace) -> int:
    rows = {name: _described(methods.get(name)) for name in _methods_to_tune()}
    if args.json:
        print(json.dumps(rows))
    else:
        width = max(map(len, rows))
        print("\n".join(f"{name:<{width}}  {said}" for name, said in rows.items()))
    return DONE


def _described(method: methods.Method) -> str:
    """The first sentence of what is said about a method."""
    paragraph = " ".join((method.__doc__ or "").split("\n\n")[0].split())
    shape = " (diagonal covariance)" if getattr(method, "covariance", "") == "diagonal" else ""
    return paragraph.split(". ")[0].rstrip(".").replace("``", "") + shape
