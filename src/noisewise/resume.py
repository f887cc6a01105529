"""Goes on with the run that a checkpoint holds, if the arguments are the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from noisewise import fingerprint
from noisewise._check import shown
from noisewise.checkpoint import Journal
from noisewise.errors import CheckpointError
from noisewise.optimizer import Optimizer


def resume(journal: Journal, fresh: Optimizer) -> Optimizer:
    """The run kept in the checkpoint if there is one, else ``fresh``; the journal is open."""
    journal.lock()
    opt = fresh
    if journal.path.exists():
        opt = Optimizer.load(journal.path, fresh.method)
        old, new = _arguments(opt), _arguments(fresh)
        for what in old:
            if old[what] != new[what] and (what != "rng" or None not in (old[what], new[what])):
                raise CheckpointError(
                    f"checkpoint {journal.path} holds a run with {what} {shown(old[what])}, not "
                    f"{shown(new[what])}: give the same arguments or another path"
                )
        fingerprint.compare(journal.path, opt._about, fresh._about)
        _regrant(opt, fresh.budget, journal.path)
    journal.open(opt.method, opt._run, opt.extra, opt._about)
    return opt


def _regrant(opt: Optimizer, budget: int, path: Path) -> None:
    """Give a run that is resumed this budget."""
    used = opt._run.ledger.charged
    if budget < used:
        raise CheckpointError(
            f"budget must be at least {used}, which the run in {path} has used already, got "
            f"{budget}"
        )
    if budget != opt.budget:
        opt._search.regrant(budget)


def _arguments(opt: Optimizer) -> dict[str, Any]:
    """What has to be the same when a run is resumed."""
    run, setup = opt._run, opt._run.setup
    return {
        "dimension": opt.dimension,
        "confirm": "auto" if setup.adaptive else setup.confirm,
        "bounds": tuple(side.tolist() for side in setup.box.bounds),
        "x0": setup.box.outer(setup.mean).tolist(),
        "sigma0": setup.sigma,
        "space": opt.space,
        "maximize": opt.maximize,
        "seeds": None if run.seeds is None else run.seeds.mode,
        "batch": setup.batch or None,
        "constraints": "given" if opt._about.get("constrained") else None,
        "data": opt._about.get("data"),
        "rng": run.seed,  # None if it is no number, which may mean any
        "extra": opt.extra,
    }
