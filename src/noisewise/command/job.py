"""What a tuning run is about, as it is kept with the run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from noisewise._check import shown
from noisewise.command import table
from noisewise.command.reading import Limit, Reader
from noisewise.command.template import Template
from noisewise.problem.parameters import FORM
from noisewise.problem.space import Space
from noisewise.run.seeds import MODES


@dataclass(frozen=True)
class Job:
    """Parameters, the command, where its value is and whether more of it is better; the seed of
    the search, the parameters it starts from (in the middle where not given), which seeds the
    command gets (None: it has no placeholder for one), and limits of other values."""

    space: Space
    template: Template
    reader: Reader = field(default_factory=Reader)
    maximize: bool = False
    seed: int | None = None
    start: dict[str, Any] = field(default_factory=dict)
    seeds: str | None = None
    limits: tuple[Limit, ...] = ()
    #: Today's setting, all parameters by name; None: not given.
    incumbent: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        self.template.check(self.space)
        self.space.encode(self.start)

    @property
    def extra(self) -> dict[str, Any]:
        """The job as plain data."""
        return {
            "space": self.space.texts,
            "command": list(self.template.argv),
            "shell": self.template.shell,
            "value": [self.reader.kind, self.reader.key],
            "maximize": self.maximize,
            "seed": self.seed,
            "start": dict(self.start),
            "seeds": self.seeds,
            "limits": [limit.text for limit in self.limits] or None,
            "incumbent": None if self.incumbent is None else dict(self.incumbent),
        }

    def difference(self, extra: dict[str, Any]) -> str:
        """How the job of a file differs, in a few words; empty if it does not."""
        names = {"space": "--param", "command": "the command", "value": "--regex or --json"}
        names["limits"] = "--limit"
        for what, mine in self.extra.items():
            theirs = extra.get(what)
            if what == "space" and isinstance(theirs, dict) and theirs != mine:
                return _parameter_difference(theirs, self.space.texts)
            if theirs != mine:
                name = names.get(what, f"--{what}")
                return f"there {name} is {shown(theirs, 120)}, here {shown(mine, 120)}"
        # Equal dictionaries may differ in their order, which is that of the coordinates.
        if list(extra["space"]) != self.space.names:
            return f"there the order of --param is {shown(list(extra['space']), 120)}"
        return ""


def _parameter_difference(theirs: dict[Any, Any], mine: dict[str, str]) -> str:
    name = next(name for name in [*mine, *theirs] if theirs.get(name) != mine.get(name))
    there, here = (side.get(name, "not given") for side in (theirs, mine))
    return f"there --param {name} is {shown(there, 60)}, here {shown(here, 60)}"


def program_options(add: Any) -> None:
    """The options of a command that runs a program, given to ``add``."""
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


def today(space: Space, texts: list[str]) -> dict[str, Any] | None:
    """Today's setting, which has a value of every parameter that applies."""
    if not texts:
        return None
    found = values("--incumbent", space, texts)
    for name in space.missing(found):
        raise ValueError(f"--incumbent must have a value of {name}, got {' '.join(texts)}")
    return found


def values(option: str, space: Space, texts: list[str]) -> dict[str, Any]:
    """Values by name of texts such as ``lr=0.01``."""
    found: dict[str, Any] = {}
    for given in texts:
        name, equals, value = given.partition("=")
        if not equals or name not in space.parameters:
            known = ", ".join(space.names)
            raise ValueError(f"{option} must be NAME=VALUE with NAME of {known}, got {given!r}")
        try:
            found[name] = table.typed(space.parameters[name], value)
        except ValueError as error:
            raise ValueError(f"{option} {name} {error}") from None
    try:
        space.encode(found)
    except ValueError as error:
        raise ValueError(f"{option} {error}") from None
    return found
