"""Goes on with the run that a checkpoint holds, if the arguments are the same."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from noisewise import _data
from noisewise._check import shown
from noisewise.errors import CheckpointError
from noisewise.loop import fingerprint
from noisewise.loop.checkpoint import Journal
from noisewise.loop.optimizer import Optimizer
from noisewise.run import changes


def resume(journal: Journal, fresh: Optimizer) -> Optimizer:
    """The run kept in the checkpoint if there is one, else ``fresh``; the journal is open."""
    journal.lock()
    opt = fresh
    if journal.path.exists():
        opt = Optimizer.load(journal.path, fresh.method)
        compare(opt, fresh, f"checkpoint {journal.path}", "path")
        check_budget(opt, fresh.budget, journal.path)
        if fresh.budget != opt.budget:
            changes.regrant(opt._search, fresh.budget)
        if opt.gave_up:  # the objective may be mended by now
            changes.go_on(opt._search)
    journal.open(opt.method, opt._run, opt.extra, opt.about)
    return opt


def compare(opt: Optimizer, fresh: Optimizer, where: str, other: str) -> None:
    """Whether a run that is kept there is one with the arguments of ``fresh``; warns if it is one
    of another objective."""
    old, new = _arguments(opt), _arguments(fresh)
    for what in old:
        any_rng = what == "rng" and None in (old[what], new[what])
        if not any_rng and not _data.same(old[what], new[what]):
            raise CheckpointError(
                f"{where} holds a run with {what} {shown(old[what])}, not "
                f"{shown(new[what])}: give the same arguments or another {other}"
            )
    kept = fingerprint.compare(where, opt.about.objective, fresh.about.objective)
    opt.about = replace(opt.about, objective=kept)


def check_budget(opt: Optimizer, budget: int, where: Any) -> None:
    """Whether a run that is resumed can have this budget."""
    used = opt._run.ledger.charged
    if budget < used:
        raise CheckpointError(
            f"budget must be at least {used}, which the run in {where} has used already, got "
            f"{budget}"
        )


def _arguments(opt: Optimizer) -> dict[str, Any]:
    """What has to be the same when a run is resumed."""
    run, setup = opt._run, opt._run.setup
    return {
        "dimension": opt.dimension,
        "confirm": "auto" if setup.adaptive else setup.confirm,
        "target": setup.target,
        "bounds": tuple(side.tolist() for side in setup.box.bounds),
        "x0": setup.box.outer(setup.mean).tolist(),
        "sigma0": setup.sigma,
        "space": opt.space,
        "maximize": opt.maximize,
        "seeds": None if run.seeds is None else run.seeds.mode,
        "batch": setup.batch or None,
        "constraints": "given" if opt.about.constrained else None,
        "data": list(opt.about.earlier) or None,
        "rng": run.seed,  # None if it is no number, which may mean any
        "extra": opt.extra,
        "incumbent": None
        if run.comparison is None
        else setup.box.outer(run.comparison.incumbent).tolist(),
    }
