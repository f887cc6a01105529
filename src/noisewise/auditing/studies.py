"""Studies of Optuna and experiments of Ax as trials."""

from __future__ import annotations

import math
from typing import Any

from noisewise.auditing.trials import Trials
from noisewise.problem.parameters import Choice, Float, Int, Parameter
from noisewise.problem.space import Space


def _of(source: Any, package: str) -> bool:
    return any(cls.__module__.partition(".")[0] == package for cls in type(source).__mro__)


def is_optuna(source: Any) -> bool:
    return _of(source, "optuna") and hasattr(source, "trials")


def is_ax(source: Any) -> bool:
    return hasattr(source, "search_space") and hasattr(source, "arms_by_name")


def stored(url: str) -> Trials:
    """The study in a storage; ``#name`` after the URL says which of several."""
    from noisewise.integrations._extra import extra

    library = extra("optuna")

    address, _, name = url.partition("#")
    names = [one.study_name for one in library.get_all_study_summaries(address)]
    if not name and len(names) != 1:
        some = ", ".join(names) or "none"
        raise ValueError(f"{address} must hold one study, or end in #name of one, got {some}")
    if name and name not in names:
        raise ValueError(f"{address} has no study {name!r}, it has {', '.join(names) or 'none'}")
    return optuna(library.load_study(study_name=name or names[0], storage=address))


def optuna(study: Any) -> Trials:
    """The trials of a study of any sampler. Those that break its constraints are left out."""
    from noisewise.integrations.optuna.constraints import violated
    from noisewise.integrations.optuna.transfer import from_study, usable

    given = from_study(study)
    rows, values = given["data"][:2]
    broken = sum(violated(trial) for trial in usable(study))
    found = Trials(rows, list(values), [math.nan] * len(values), given["space"], given["maximize"])
    found.title = study.study_name
    if broken:
        found.notes.append(f"{broken} trials that break a constraint are left out")
        keep = [i for i, trial in enumerate(usable(study)) if not violated(trial)]
        for name in ("rows", "values", "errors"):
            setattr(found, name, [getattr(found, name)[i] for i in keep])
    return found


def ax(experiment: Any) -> Trials:
    """The trials of an experiment, the mean of each arm with its standard error."""
    objective = experiment.optimization_config.objective
    metric, table = objective.metric.name, experiment.fetch_data().df
    rows, values, errors = [], [], []
    for arm, name, mean, sem in zip(
        *(list(table[column]) for column in ("arm_name", "metric_name", "mean", "sem")), strict=True
    ):
        if name == metric:
            rows.append(dict(experiment.arms_by_name[arm].parameters))
            values.append(float(mean))
            errors.append(float(sem) if sem is not None else math.nan)
    known = {name: _ax_parameter(p) for name, p in experiment.search_space.parameters.items()}
    space = Space({name: p for name, p in known.items() if p is not None})
    title = getattr(experiment, "name", None) or metric
    return Trials(rows, values, errors, space, not objective.minimize, str(title))


def _ax_parameter(p: Any) -> Parameter | None:
    """A parameter of Ax; None for one with a single value."""
    if hasattr(p, "lower"):
        whole = "int" in str(getattr(p, "parameter_type", "")).lower()
        log = bool(getattr(p, "log_scale", False))
        if whole:
            return Int(int(p.lower), int(p.upper), log=log)
        return Float(float(p.lower), float(p.upper), log=log)
    return Choice(tuple(p.values)) if len(getattr(p, "values", ())) > 1 else None
