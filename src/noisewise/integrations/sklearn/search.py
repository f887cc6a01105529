"""scikit-learn: a hyperparameter search that spends its budget in single fits.

>>> from noisewise.integrations.sklearn import NoisewiseSearchCV
>>> from sklearn.svm import SVC
>>> search = NoisewiseSearchCV(SVC(), {"C": "1e-2..1e3:log", "gamma": "1e-4..1:log"}, budget=100)

See docs/guides/scikit-learn.md.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, final

import numpy as np

from noisewise._check import integer, shown
from noisewise.integrations._extra import extra
from noisewise.integrations.sklearn.spaces import named
from noisewise.methods import Method
from noisewise.noise.estimate import estimate
from noisewise.optimizer import Optimizer
from noisewise.space import Space

if extra("sklearn"):  # which says so where it is missing
    from sklearn.base import clone, is_classifier
    from sklearn.exceptions import FitFailedWarning
    from sklearn.metrics import check_scoring
    from sklearn.model_selection import check_cv, cross_validate
    from sklearn.model_selection._search import BaseSearchCV
    from sklearn.utils import check_random_state, indexable
    from sklearn.utils.parallel import Parallel, delayed

__all__ = ["NoisewiseSearchCV"]

#: The confirmation takes at most one part in this many of the budget.
_CONFIRM_SHARE = 3


@dataclass(frozen=True)
class Fit:
    """One fit on the training part of one fold, scored on its test part; nan: it failed."""

    params: dict[str, Any]
    fold: int
    score: float
    fit_time: float = math.nan
    score_time: float = math.nan
    error: str = ""


@final
class NoisewiseSearchCV(BaseSearchCV):  # type: ignore[misc]
    """Search hyperparameters by single fits on single folds, and confirm what is found.

    Parameters
    ----------
    estimator
        What to tune.
    space
        Parameters by name: text such as ``"1e-4..1e-1:log"`` or ``"1..20:int"``, an object of
        `noisewise.space`, a list of options, a ``scipy.stats`` uniform, loguniform or randint, or
        a `noisewise.Space` of all of them.
    budget
        Fits in all, those of the confirmation included, the refit not.
    method
        A name of `noisewise.list_methods` or an object from `noisewise.methods`.
    scoring, n_jobs, refit, cv, error_score
        As for ``GridSearchCV``; one metric, and ``refit`` is True or False.
    random_state
        None, a seed or a numpy ``RandomState``: which folds, which points. Every ``random_state``
        parameter of the estimator that is None gets a fresh seed from it for each fit.

    Attributes
    ----------
    best_params_, best_index_
        The recommendation, which is the last row of ``cv_results_`` and need not be of rank 1:
        a row with few fits ranks high by luck.
    best_score_, best_score_se_
        Mean score of the fits that measured the recommendation after it had been chosen, one per
        fold, and its standard error.
    cv_results_
        One row for each set of parameters, as in ``GridSearchCV``; folds without a fit are nan and
        ``n_fits`` says how many fits a row rests on.
    result_
        The `noisewise.Result` of the search; its values are scores.

    Examples
    --------
    >>> from noisewise.integrations.sklearn import NoisewiseSearchCV
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import SVC
    >>> search = NoisewiseSearchCV(SVC(), {"C": "1e-2..1e2:log"}, budget=20, random_state=0)
    >>> bool(search.fit(*load_iris(return_X_y=True)).best_score_ > 0.9)
    True
    """

    def __init__(
        self,
        estimator: Any,
        space: Any,
        *,
        budget: int = 100,
        method: str | Method = "auto",
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: bool = True,
        cv: Any = None,
        error_score: Any = np.nan,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            estimator, scoring=scoring, n_jobs=n_jobs, refit=refit, cv=cv, error_score=error_score
        )
        self.space = space
        self.budget = budget
        self.method = method
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, **params: Any) -> NoisewiseSearchCV:
        """Search, confirm and, with ``refit``, fit the recommendation to all data.

        ``params`` go to the estimator's ``fit``, split like X where they have a value per sample;
        ``groups`` goes to the splitter.
        """
        space, budget = named(self.space), integer("budget", self.budget, least=2)
        self._check_choices()
        # scikit-learn's own words for names that the estimator does not have, before any fit.
        clone(self.estimator).set_params(**space.decode(np.full(space.dimension, 0.5)))
        X, y = indexable(X, y)
        groups = params.pop("groups", None)
        cv = check_cv(self.cv, y, classifier=is_classifier(self.estimator))
        folds = list(cv.split(X, y, groups))
        self.n_splits_, self.multimetric_ = len(folds), False
        self.scorer_ = check_scoring(self.estimator, scoring=self.scoring)
        # scikit-learn's generator gives the seed; from there on the noise has streams of its own.
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        confirm = max(1, min(len(folds), budget // _CONFIRM_SHARE))
        opt = Optimizer(
            budget=budget,
            bounds=space.bounds,
            method=self.method,
            rng=seed,
            confirm=confirm,
            maximize=True,
        )
        job = _Job(self.estimator, X, y, params, folds, self.scorer_, self.error_score, seed)
        searched, confirmed = self._search(opt, space, job)
        self._keep(space, opt, searched, confirmed)
        if self.refit:
            self._refit(X, y, params)
        return self

    def _check_choices(self) -> None:
        if isinstance(self.scoring, (list, tuple, set, dict)):
            raise ValueError(f"scoring must be one metric, got {shown(self.scoring)}")
        if self.error_score != "raise" and not isinstance(self.error_score, Real):
            raise ValueError(
                f"error_score must be 'raise' or a number, got {shown(self.error_score)}"
            )
        if not isinstance(self.refit, bool):
            raise ValueError(f"refit must be True or False, got {shown(self.refit)}")

    def _search(self, opt: Optimizer, space: Space, job: _Job) -> tuple[list[Fit], list[Fit]]:
        """Fits of the search and fits that measured the recommendation."""
        searched: list[Fit] = []
        confirmed: list[Fit] = []
        parallel = Parallel(n_jobs=self.n_jobs)
        while not opt.done:
            wave = opt.ask()
            ids = [trial.id for trial in wave]
            last = wave[0].kind == "confirmation"
            # Each fold once before any twice, whatever the search drew.
            folds = range(len(wave)) if last else map(job.fold, ids)
            fits = parallel(
                delayed(job)(id, space.decode(trial.x), fold % len(job.folds))
                for id, trial, fold in zip(ids, wave, folds, strict=True)
            )
            (confirmed if last else searched).extend(fits)
            opt.tell(ids, [fit.score for fit in fits])
        return searched, confirmed

    def _keep(
        self, space: Space, opt: Optimizer, searched: list[Fit], confirmed: list[Fit]
    ) -> None:
        failed = [fit.error for fit in searched + confirmed if fit.error]
        total = len(searched) + len(confirmed)
        if len(failed) == total:
            raise ValueError(f"all {total} fits failed, the first with {failed[0]}")
        if failed:
            warnings.warn(
                f"{len(failed)} of {total} fits failed, the first with {failed[0]}",
                FitFailedWarning,
                stacklevel=3,
            )
        self.result_ = opt.result()
        self.best_params_ = space.decode(self.result_.x)
        groups: dict[str, list[Fit]] = {}
        for fit in searched:
            groups.setdefault(repr(fit.params), []).append(fit)
        rows = [*groups.values(), confirmed or [Fit(self.best_params_, 0, math.nan)]]
        self.cv_results_ = _results(rows, space.names, self.n_splits_)
        self.best_index_ = len(rows) - 1
        found = estimate(np.array([f.score for f in rows[-1]]))
        self.best_score_, self.best_score_se_ = found.value, found.se

    def _refit(self, X: Any, y: Any, params: Mapping[str, Any]) -> None:
        start = time.perf_counter()
        chosen = clone(self.best_params_, safe=False)
        self.best_estimator_ = clone(self.estimator).set_params(**chosen)
        self.best_estimator_.fit(*((X,) if y is None else (X, y)), **params)
        self.refit_time_ = time.perf_counter() - start
        if hasattr(self.best_estimator_, "feature_names_in_"):
            self.feature_names_in_ = self.best_estimator_.feature_names_in_


@dataclass(frozen=True)
class _Job:
    """Fits the estimator with given parameters on one fold; goes to worker processes."""

    estimator: Any
    X: Any
    y: Any
    fit_params: Mapping[str, Any]
    folds: Sequence[tuple[Any, Any]]
    scorer: Any
    error_score: Any
    seed: int

    def fold(self, id: int) -> int:
        """The fold of an evaluation: every fold once, in random order, then again."""
        block, place = divmod(id, len(self.folds))
        order = np.random.default_rng([self.seed, block]).permutation(len(self.folds))
        return int(order[place])

    def __call__(self, id: int, params: dict[str, Any], fold: int) -> Fit:
        try:
            found = cross_validate(
                self._prepared(id, params),
                self.X,
                self.y,
                scoring=self.scorer,
                cv=[self.folds[fold]],
                params=dict(self.fit_params),
                error_score="raise",
            )
        except Exception as error:  # whatever the estimator raises
            if isinstance(self.error_score, str):
                raise
            said = f"{type(error).__name__}: {error}"
            return Fit(params, fold, float(self.error_score), error=said)
        if "test_score" not in found:
            names = [name.removeprefix("test_") for name in found if name.startswith("test_")]
            raise ValueError(f"scoring must be one metric, got {shown(names)}")
        score = float(found["test_score"][0])
        if not math.isfinite(score):
            return Fit(params, fold, math.nan, error=f"a score of {score}")
        return Fit(params, fold, score, found["fit_time"][0], found["score_time"][0])

    def _prepared(self, id: int, params: dict[str, Any]) -> Any:
        """A fresh estimator with these parameters and with seeds where it has none."""
        fresh = clone(self.estimator).set_params(**clone(params, safe=False))
        rng = np.random.default_rng([self.seed, id, 1])
        seeds = {
            name: int(rng.integers(2**31))
            for name, value in sorted(fresh.get_params().items(), key=lambda item: item[0])
            if value is None and name.rpartition("__")[2] == "random_state"
        }
        return fresh.set_params(**seeds)


def _results(rows: list[list[Fit]], names: Sequence[str], n_splits: int) -> dict[str, Any]:
    """``cv_results_``: one row per set of parameters."""
    found: dict[str, Any] = {}
    for what in ("fit_time", "score_time"):
        times = [[getattr(fit, what) for fit in row] for row in rows]
        found[f"mean_{what}"], found[f"std_{what}"] = _moments(times)
    for name in names:
        found[f"param_{name}"] = _column([row[0].params[name] for row in rows])
    found["params"] = [row[0].params for row in rows]
    for k in range(n_splits):
        found[f"split{k}_test_score"] = _moments(
            [[fit.score for fit in row if fit.fold == k] for row in rows]
        )[0]
    scores = [[fit.score for fit in row] for row in rows]
    mean, found["std_test_score"] = _moments(scores)
    found["mean_test_score"] = mean
    worst = np.where(np.isnan(mean), -np.inf, mean)
    found["rank_test_score"] = np.array([1 + int(np.sum(worst > one)) for one in worst], np.int32)
    found["n_fits"] = np.array([len(row) for row in rows])
    return found


def _column(values: list[Any]) -> Any:
    """A parameter in all rows: an array of numbers where all are of one such type."""
    kinds = set(map(type, values))
    numbers = len(kinds) == 1 and kinds <= {bool, int, float}
    if numbers and all(abs(value) < 2**63 or isinstance(value, float) for value in values):
        return np.ma.MaskedArray(values, mask=False)
    column: Any = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):
        column[i] = value
    return np.ma.MaskedArray(column, mask=False)


def _moments(values: list[list[float]]) -> tuple[Any, Any]:
    """Mean and standard deviation of each row without its nans; nan where nothing is left."""
    kept = [[v for v in row if not math.isnan(v)] for row in values]
    mean = np.array([np.mean(row) if row else math.nan for row in kept])
    std = np.array([np.std(row) if row else math.nan for row in kept])
    return mean, std
