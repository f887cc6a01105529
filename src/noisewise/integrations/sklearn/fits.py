"""One evaluation of the search: a fit on the training part of one fold, and its scores; the table
``cv_results_`` of all of them, one row per set of parameters."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from noisewise._check import shown
from noisewise.integrations._extra import extra

if extra("sklearn"):  # which says so where it is missing
    from sklearn.base import clone
    from sklearn.model_selection import cross_validate

#: Name of the metric where there is only one.
SCORE = "score"
#: Streams of seeds: for the fits of the search, and for the refit.
_FITS, _REFIT = 1, 2


@dataclass(frozen=True)
class Fit:
    """One fit on the training part of one fold, scored on its test part. ``score`` is that of the
    metric that is searched for; nan: it failed."""

    params: dict[str, Any]
    fold: int
    score: float
    #: All scores by metric, on the test part and, where wanted, on the training part.
    test: Mapping[str, float] = field(default_factory=dict)
    train: Mapping[str, float] = field(default_factory=dict)
    fit_time: float = math.nan
    score_time: float = math.nan
    error: str = ""

    @property
    def said(self) -> str:
        """The fit as a line."""
        given = ", ".join(f"{name}={value}" for name, value in self.params.items())
        found = f"score {self.score:.4g}" if not self.error else f"failed with {self.error}"
        took = "" if math.isnan(self.fit_time) else f", {self.fit_time + self.score_time:.2g} s"
        return f"fold {self.fold + 1}, {given}: {found}{took}"


@dataclass(frozen=True)
class Job:
    """Fits the estimator with given parameters on one fold; goes to worker processes."""

    estimator: Any
    X: Any
    y: Any
    fit_params: Mapping[str, Any]
    folds: Sequence[tuple[Any, Any]]
    scoring: Any
    #: The metric that is searched for.
    metric: str
    error_score: Any
    train: bool
    seed: int

    def fold(self, id: int) -> int:
        """The fold of an evaluation: every fold once, in random order, then again."""
        block, place = divmod(id, len(self.folds))
        order = np.random.default_rng([self.seed, block]).permutation(len(self.folds))
        return int(order[place])

    def __call__(self, id: int, params: dict[str, Any], fold: int) -> Fit:
        try:
            found = cross_validate(
                seeded(self.estimator, params, [self.seed, id, _FITS]),
                self.X,
                self.y,
                scoring=self.scoring,
                cv=[self.folds[fold]],
                params=dict(self.fit_params),
                return_train_score=self.train,
                error_score="raise",
            )
        except Exception as error:  # whatever the estimator raises
            if isinstance(self.error_score, str):
                raise
            said = f"{type(error).__name__}: {error}"
            return Fit(params, fold, float(self.error_score), error=said)
        test, train = _scores(found, "test_"), _scores(found, "train_")
        if self.metric not in test:
            raise ValueError(not_a_metric(list(test), self.metric))
        score = test[self.metric]
        if not math.isfinite(score):
            return Fit(params, fold, math.nan, error=f"a score of {score}")
        return Fit(params, fold, score, test, train, found["fit_time"][0], found["score_time"][0])


def seeded(estimator: Any, params: dict[str, Any], seed: Sequence[int]) -> Any:
    """A fresh estimator with these parameters, and with seeds where it has none."""
    fresh = clone(estimator).set_params(**clone(params, safe=False))
    rng = np.random.default_rng(list(seed))
    seeds = {
        name: int(rng.integers(2**31))
        for name, value in sorted(fresh.get_params().items(), key=lambda item: item[0])
        if value is None and name.rpartition("__")[2] == "random_state"
    }
    return fresh.set_params(**seeds)


def for_refit(estimator: Any, params: dict[str, Any], seed: int) -> Any:
    """The estimator that is fitted to all data."""
    return seeded(estimator, params, [seed, _REFIT])


def not_a_metric(names: Sequence[str], given: Any) -> str:
    """What to say where ``refit`` must name a metric."""
    return (
        f"refit must name the metric to search by where there are several ({', '.join(names)}), "
        f"got {shown(True if given == SCORE else given)}"
    )


def _scores(found: Mapping[str, Any], prefix: str) -> dict[str, float]:
    return {
        name.removeprefix(prefix): float(values[0])
        for name, values in found.items()
        if name.startswith(prefix)
    }


def results(
    rows: list[list[Fit]],
    names: Sequence[str],
    n_splits: int,
    metrics: Sequence[str],
    train: bool = False,
) -> dict[str, Any]:
    """``cv_results_`` of fits that are grouped by their parameters."""
    found: dict[str, Any] = {}
    for what in ("fit_time", "score_time"):
        times = [[getattr(fit, what) for fit in row] for row in rows]
        found[f"mean_{what}"], found[f"std_{what}"] = _moments(times)
    for name in names:
        found[f"param_{name}"] = _column([row[0].params for row in rows], name)
    found["params"] = [row[0].params for row in rows]
    for metric in metrics:
        test = [[_score(fit, fit.test, metric) for fit in row] for row in rows]
        mean = _add(found, f"test_{metric}", rows, test, n_splits)
        worst = np.where(np.isnan(mean), -np.inf, mean)
        ranks = [1 + int(np.sum(worst > one)) for one in worst]
        found[f"rank_test_{metric}"] = np.array(ranks, np.int32)
        if train:
            seen = [[_score(fit, fit.train, metric) for fit in row] for row in rows]
            _add(found, f"train_{metric}", rows, seen, n_splits)
    found["n_fits"] = np.array([len(row) for row in rows])
    return found


def _score(fit: Fit, scores: Mapping[str, float], metric: str) -> float:
    """One score of a fit; a fit that failed has the same for all metrics."""
    return fit.score if fit.error else scores.get(metric, math.nan)


def _add(
    found: dict[str, Any],
    what: str,
    rows: list[list[Fit]],
    scores: list[list[float]],
    n_splits: int,
) -> Any:
    """Add the columns of one metric, and return its means."""
    for k in range(n_splits):
        of_fold = [
            [score for fit, score in zip(row, values, strict=True) if fit.fold == k]
            for row, values in zip(rows, scores, strict=True)
        ]
        found[f"split{k}_{what}"] = _moments(of_fold)[0]
    found[f"mean_{what}"], found[f"std_{what}"] = _moments(scores)
    return found[f"mean_{what}"]


def _column(params: list[dict[str, Any]], name: str) -> Any:
    """A parameter in all rows, masked where a row does not have it: an array of numbers where all
    are of one such type."""
    values, mask = [given.get(name) for given in params], [name not in given for given in params]
    known: list[Any] = [given[name] for given in params if name in given]
    kinds = set(map(type, known))
    numbers = len(kinds) == 1 and kinds <= {bool, int, float}
    if numbers and all(abs(value) < 2**63 or isinstance(value, float) for value in known):
        filled = [given.get(name, known[0]) for given in params]
        return np.ma.MaskedArray(filled, mask=mask)
    column: Any = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):
        column[i] = value
    return np.ma.MaskedArray(column, mask=mask)


def _moments(values: list[list[float]]) -> tuple[Any, Any]:
    """Mean and standard deviation of each row without its nans; nan where nothing is left."""
    kept = [[v for v in row if not math.isnan(v)] for row in values]
    mean = np.array([np.mean(row) if row else math.nan for row in kept])
    std = np.array([np.std(row) if row else math.nan for row in kept])
    return mean, std
