"""What an artifact is, how much of it is run, and how it is written down."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

import noisewise
from noisewise_bench import behaviour, stamps
from noisewise_bench.campaign import Grid
from noisewise_bench.experiments.study import commas, span
from noisewise_bench.figures import Panel, save
from noisewise_bench.stamps import Stamp
from noisewise_bench.tables import Table
from noisewise_bench.task import Row

T = TypeVar("T")
ScaleName = Literal["quick", "short", "full"]
QUICK_NOTE = (
    "A quick run on fewer and smaller problems, to see that all parts work: its numbers are not "
    "comparable with the published ones."
)
SCALES: tuple[ScaleName, ...] = ("quick", "short", "full")


@dataclass(frozen=True)
class Scale:
    """How much to run: ``quick`` to see that it works, ``short`` as committed, ``full`` as in
    the paper. ``most`` limits the instances of every function, and seeds of tasks in proportion.
    """

    name: ScaleName
    most: int | None = None

    def pick(self, *, quick: T, full: T) -> T:
        """``quick`` if this scale is, else ``full``: short ones differ in their instances only."""
        return quick if self.name == "quick" else full

    def instances(self, short: int = 15) -> range:
        """Instances 1 to 15 in full, 1 to ``short`` if short, the first one if quick."""
        last = {"quick": 1, "short": short, "full": 15}[self.name]
        return range(1, min(last, self.most or last) + 1)

    def seeds(self) -> range:
        """Seeds 1 to 50 of a task, the first one if quick."""
        n = self.pick(quick=1, full=50)
        return range(1, min(n, round(50 * (self.most or 15) / 15)) + 1)


@dataclass(frozen=True)
class Plot:
    """Panels that make one figure file, ``columns`` beside each other, each ``width`` inches."""

    panels: Sequence[Panel]
    columns: int = 2
    width: float = 3.6


@dataclass(frozen=True)
class Output:
    """What rows were turned into; the notes are sentences on what to read it with."""

    tables: Sequence[Table] = ()
    plots: Sequence[Plot] = ()
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Artifact:
    """A figure or table of the paper: what it claims, the runs it needs, what is made of them.

    ``grids`` may return nothing; ``make`` then computes all by itself, in seconds.
    """

    name: str  # of its files
    title: str
    source: str  # where it is in the paper
    claim: str  # the paper's, in one sentence
    grids: Callable[[Scale], list[Grid]]
    make: Callable[[list[Row], Scale], Output]


def write(artifact: Artifact, scale: Scale, rows: Sequence[Row], out: Path) -> Path:
    """The page of an artifact, with its tables as CSV and its figures as SVG beside it."""
    out.mkdir(parents=True, exist_ok=True)
    for old in out.glob(f"{artifact.name}*"):
        if re.fullmatch(re.escape(artifact.name) + r"(-\d+)?\.(csv|svg|md)", old.name):
            old.unlink()
    made = artifact.make(list(rows), scale)
    parts = [
        f"# {artifact.title}",
        f"{artifact.source}. The paper's claim: {artifact.claim}",
        f"Printed by `{command(artifact, scale)}` (noisewise {noisewise.__version__}; "
        f"{describe(rows)}).",
        *([QUICK_NOTE] if scale.name == "quick" else []),
        *made.notes,
    ]
    for i, plot in enumerate(made.plots, start=1):
        name = f"{artifact.name}-{i}.svg"
        save(plot.panels, out / name, plot.columns, plot.width)
        captions = dict.fromkeys(panel.caption for panel in plot.panels)
        parts.append(f"![{' '.join(captions)}]({name})\n\n*{' '.join(captions)}*")
    for i, table in enumerate(made.tables, start=1):
        parts.append(table.markdown())
        (out / f"{artifact.name}-{i}.csv").write_text(table.csv().rstrip("\n") + "\n")
    parts.append(stamp(artifact, rows).comment())
    page = out / f"{artifact.name}.md"
    page.write_text("\n\n".join(parts) + "\n")
    return page


def stamp(artifact: Artifact, rows: Sequence[Row]) -> Stamp:
    """What made the artifact: the methods and problems of its rows, or its own computation."""
    if rows:
        return stamps.of_rows(rows)
    return Stamp(computed={artifact.name: stamps.of_computed(artifact.name)})


def digest(artifact: Artifact) -> str:
    """Digest of an artifact that needs no campaign: of its quick tables as shown."""
    quick = Scale("quick")
    if artifact.grids(quick):
        return ""
    return behaviour.digest([table.cells() for table in artifact.make([], quick).tables])


def command(artifact: Artifact, scale: Scale) -> str:
    """What makes this very artifact again."""
    few = "" if scale.most is None else f" --instances {scale.most}"
    return f"python -m noisewise_bench.reproduce --only {artifact.name} --scale {scale.name}{few}"


def describe(rows: Sequence[Row]) -> str:
    """Runs, dimensions, budgets, instances and noise seeds of the rows, in words."""
    if not rows:
        return "no campaign: computed on the spot with fixed seeds"
    runs: dict[tuple[str, str, int, str], list[Row]] = {}
    for row in rows:
        runs.setdefault((row.suite, row.budget, row.dimension, row.method), []).append(row)
    # Methods that ran on the same instances are told together, and so are dimensions then.
    methods: dict[tuple[str, str, str, str, int], list[str]] = {}
    for (suite, budget, d, method), group in sorted(runs.items()):
        marks = re.findall(r"/[is](\d+)", " ".join(row.problem for row in group))
        instances = span(sorted({int(mark) for mark in marks})) if marks else "-"
        seeds = span(sorted({row.seed for row in group}))
        methods.setdefault((suite, budget, instances, seeds, d), []).append(method)
    told: dict[tuple[str, str, str, str, tuple[str, ...]], list[int]] = {}
    for (suite, budget, instances, seeds, d), names in methods.items():
        told.setdefault((suite, budget, instances, seeds, tuple(names)), []).append(d)
    parts = [
        f"{suite} d = {commas(ds)}, B = {budget}, instances {instances}, noise seeds {seeds}, "
        f"{len(names)} methods"
        for (suite, budget, instances, seeds, names), ds in told.items()
    ]
    return f"{len(rows)} runs: " + "; ".join(parts)
