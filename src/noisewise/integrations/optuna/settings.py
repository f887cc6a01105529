"""Settings of a run in an Optuna study: what a worker wants, and what the study keeps."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from noisewise import _data
from noisewise._check import integer, integer_or_none, positive_real, shown
from noisewise.integrations.optuna import records
from noisewise.integrations.optuna.distributions import named
from noisewise.integrations.optuna.view import View
from noisewise.methods import Method, resolve
from noisewise.run.comparison import SMALLEST


@dataclass(frozen=True)
class Wanted:
    """What a worker was given; the study keeps what its first worker wanted."""

    n_trials: int | None
    seed: int | None
    #: As it is kept in the storage, see `encoded`.
    method: Any
    workers: int
    x0: Mapping[str, Any] | None
    sigma0: float
    incumbent: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        plain: dict[str, Any] = {
            "workers": integer("workers", self.workers, least=1),
            "sigma0": positive_real("sigma0", self.sigma0, most=1.0),
            "n_trials": integer_or_none("n_trials", self.n_trials, least=2),
            "seed": integer_or_none("seed", self.seed, least=0),
        }
        for name, value in plain.items():  # numpy's numbers cannot be kept in a storage
            object.__setattr__(self, name, value)
        if self.x0 is not None and not isinstance(self.x0, Mapping):
            raise ValueError(f"x0 must be a dictionary of parameters or None, got {shown(self.x0)}")
        if self.incumbent is None:
            return
        if not isinstance(self.incumbent, Mapping):
            raise ValueError(
                f"incumbent must be a dictionary of parameters or None, got {shown(self.incumbent)}"
            )
        if self.n_trials is None or self.n_trials < SMALLEST:
            raise ValueError(
                f"n_trials must be at least {SMALLEST} with incumbent, got {shown(self.n_trials)}"
            )

    def begin(
        self,
        study: Any,
        trial: Any,
        space: Mapping[str, Any],
        when: Mapping[str, Any],
        earlier: View | None,
    ) -> dict[str, Any]:
        """Settings of a new run over a space with these conditions, which ``trial`` is the first
        of. Where another run came before, over more parameters, it starts from what that one
        recommends and has what is left of the trials."""
        given = self.incumbent if self.x0 is None else self.x0
        start = {name: value for name, value in (given or {}).items() if name in space}
        today = check_incumbent(self.incumbent, space, when)
        if earlier is None and len(start) < len(self.x0 or {}):
            left = ", ".join(repr(name) for name in self.x0 or {} if name not in start)
            warnings.warn(f"x0 has values for what is not searched: {left}", stacklevel=2)
        if earlier is not None:
            found = earlier.points.named.decode(earlier.replay.recommend().x)
            start |= {name: found[name] for name in found if space.get(name) == earlier.space[name]}
        check_start(start, space, when)
        if earlier is None and records.has_earlier(study):
            warnings.warn(
                f"study {study.study_name!r} has a search of an earlier version of noisewise, with "
                "which this one cannot go on: a new one begins, and the trials so far are its data",
                stacklevel=2,
            )
        known = [t for t in records.trials(study) if t.number != trial.number]
        first = min((t.number for t in known if records.mark(t)), default=trial.number)
        before = sum(t.number >= first and t.state.is_finished() for t in known)
        return records.begin(
            space,
            when=dict(when),
            **({} if today is None else {"incumbent": today}),
            seed=_drawn_seed(study) if self.seed is None else self.seed,
            method=self.method,
            workers=self.workers,
            start=start,
            sigma0=self.sigma0,
            before=before,
            # Trials before this number are earlier data, except those that are still running.
            until=trial.number,
            running=[t.number for t in known[: trial.number] if not t.state.is_finished()],
            budgets=None if self.n_trials is None else [max(1, self.n_trials - before)],
        )

    def extended(self, kept: Mapping[str, Any]) -> dict[str, Any] | None:
        """The study's settings with more trials; None where they have as many as are wanted."""
        if kept["budgets"] is None or self.n_trials is None:
            return None
        more = self.n_trials - kept["before"] - sum(kept["budgets"])
        return {**kept, "budgets": [*kept["budgets"], more]} if more > 0 else None

    def differences(self, kept: Mapping[str, Any]) -> list[str]:
        """Names of the study's settings that are not as wanted."""
        mine = {"method": self.method, "workers": self.workers, "sigma0": self.sigma0}
        if self.seed is not None:
            mine["seed"] = self.seed
        other = [name for name, value in mine.items() if kept[name] != value]
        if (kept["budgets"] is None) != (self.n_trials is None):
            other.append("n_trials")
        return other


def encoded(method: str | Method) -> Any:
    """The method as it is kept in the storage."""
    found = resolve(method)
    try:
        return _data.encode(found)
    except _data.DataError:
        raise ValueError(
            f"method must have plain options to be kept in the storage, got {shown(found)}"
        ) from None


def check_start(
    start: Mapping[str, Any] | None, space: Mapping[str, Any], when: Mapping[str, Any]
) -> None:
    """Whether the parameters lie in the space."""
    try:
        named(space, when).encode(start or {})
    except ValueError as error:
        raise ValueError(f"x0 {error}") from None


def check_incumbent(
    incumbent: Mapping[str, Any] | None, space: Mapping[str, Any], when: Mapping[str, Any]
) -> dict[str, Any] | None:
    """The searched parameters of today's setting, if those that apply are all there and lie in the
    space."""
    if incumbent is None:
        return None
    found, searched = (
        {name: incumbent[name] for name in space if name in incumbent},
        named(space, when),
    )
    try:
        missing = searched.missing(found)
    except ValueError as error:
        raise ValueError(f"incumbent: {error}") from None
    if missing:
        raise ValueError(f"incumbent must have a value of {missing[0]}, got {shown(incumbent)}")
    return found


def _drawn_seed(study: Any) -> int:
    """A seed that all workers of a study draw alike."""
    first = records.trials(study)[0].datetime_start
    return int(hashlib.sha256(f"{study.study_name} {first}".encode()).hexdigest()[:12], 16)
