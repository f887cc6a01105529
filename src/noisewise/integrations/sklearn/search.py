"""The search: asks for parameters, fits them on single folds, and confirms what it finds."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Mapping
from numbers import Real
from typing import Any, final

import numpy as np

from noisewise._check import integer, shown
from noisewise.integrations._extra import extra
from noisewise.integrations.sklearn.fits import (
    SCORE,
    Fit,
    Job,
    for_refit,
    not_a_metric,
    results,
)
from noisewise.integrations.sklearn.spaces import (
    Branches,
    current,
    earlier_points,
    named,
    parts,
)
from noisewise.loop.optimizer import Optimizer
from noisewise.methods import Method
from noisewise.problem.space import Space
from noisewise.report import logger
from noisewise.report.progress import Progress
from noisewise.run.comparison import LEAST
from noisewise.run.seeds import INDEPENDENT

if extra("sklearn"):  # which says so where it is missing
    from sklearn.base import clone, is_classifier
    from sklearn.exceptions import FitFailedWarning
    from sklearn.metrics import check_scoring
    from sklearn.metrics._scorer import _check_multimetric_scoring
    from sklearn.model_selection import check_cv
    from sklearn.model_selection._search import BaseSearchCV
    from sklearn.utils import check_random_state, indexable
    from sklearn.utils.parallel import Parallel, delayed

#: The confirmation takes at most one part in this many of the budget.
_CONFIRM_SHARE = 3
#: A comparison with today's parameters takes at most this part.
_COMPARE_SHARE = 0.4
#: What trials of the last phase are for, apart from the choice of a finalist.
_LAST = ("confirmation", "comparison")


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
        a `noisewise.Space` of all of them. A list of such spaces: one of them holds at a time, as
        in the ``param_grid`` of ``GridSearchCV``.
    budget
        Fits in all, those of the confirmation included, the refit not.
    method
        A name of `noisewise.list_methods` or an object from `noisewise.methods`.
    scoring, n_jobs, cv, error_score, return_train_score
        As for ``GridSearchCV``.
    refit
        Whether to fit the recommendation to all data. With several metrics, the name of the one
        that is searched for.
    verbose
        0: silent; 1: progress on stderr, or to the logger ``noisewise``; 2: a line per fit, too.
    random_state
        None, a seed or a numpy ``RandomState``: which folds, which points. Every ``random_state``
        parameter of the estimator that is None gets a fresh seed from it for each fit, and for
        the refit.
    data
        Scores known before: ``(params, scores)`` with a list of dictionaries, or the
        ``cv_results_`` of an earlier search. They cost no fits.
    incumbent
        Today's parameters: True for those that the estimator has, or a dictionary by name. They are
        recommended unless others are shown to be better, on the same folds with the same seeds;
        ``result_`` says by how much (``verdict``, ``improvement``).

    Attributes
    ----------
    best_params_, best_index_
        The recommendation, which is the last row of ``cv_results_`` and need not be of rank 1:
        a row with few fits ranks high by luck.
    best_score_, best_score_se_, best_score_interval_
        ``fun``, ``fun_se`` and ``interval`` of ``result_``: the mean score of the fits that
        measured the recommendation after it had been chosen, one per fold, its standard error and
        a 95 % interval.
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
        refit: bool | str = True,
        cv: Any = None,
        verbose: int = 0,
        error_score: Any = np.nan,
        return_train_score: bool = False,
        random_state: Any = None,
        data: Any = None,
        incumbent: Any = None,
    ) -> None:
        super().__init__(
            estimator,
            scoring=scoring,
            n_jobs=n_jobs,
            refit=refit,
            cv=cv,
            verbose=verbose,
            error_score=error_score,
            return_train_score=return_train_score,
        )
        self.space = space
        self.budget = budget
        self.method = method
        self.random_state = random_state
        self.data = data
        self.incumbent = incumbent

    def fit(self, X: Any, y: Any = None, **params: Any) -> NoisewiseSearchCV:
        """Search, confirm and, with ``refit``, fit the recommendation to all data.

        ``params`` go to the estimator's ``fit``, split like X where they have a value per sample;
        ``groups`` goes to the splitter.
        """
        space, budget = named(self.space), integer("budget", self.budget, least=2)
        scoring = self._check_choices()
        # scikit-learn's own words for names that the estimator does not have, before any fit.
        for one in parts(space):
            values = clone(one.decode(np.full(one.dimension, 0.5)), safe=False)
            clone(self.estimator).set_params(**values)
        X, y = indexable(X, y)
        groups = params.pop("groups", None)
        cv = check_cv(self.cv, y, classifier=is_classifier(self.estimator))
        folds = list(cv.split(X, y, groups))
        self.n_splits_ = len(folds)
        self.scorer_ = scoring
        # scikit-learn's generator gives the seed; from there on the noise has streams of its own.
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        confirm = max(1, min(len(folds), budget // _CONFIRM_SHARE))
        today = current(self.incumbent, self.estimator, space)
        if today is not None:  # each fold once for either
            confirm = max(LEAST, 2 * min(len(folds), int(_COMPARE_SHARE * budget / 2)))
        metric = self.refit if isinstance(self.refit, str) else SCORE
        opt = Optimizer(
            budget=budget,
            space=space if isinstance(space, Space) else space.inner,
            method=self.method,
            rng=seed,
            confirm=confirm,
            maximize=True,
            data=earlier_points(self.data, space, metric),
            incumbent=today,
            seeds=None if today is None else INDEPENDENT,
        )
        job = Job(
            self.estimator,
            X,
            y,
            params,
            folds,
            scoring,
            metric,
            self.error_score,
            bool(self.return_train_score),
            seed,
        )
        searched, confirmed = self._search(opt, space, job)
        self._keep(space, opt, searched, confirmed)
        if self.refit:
            self._refit(X, y, params, seed)
        return self

    def _check_choices(self) -> Any:
        """The scorer, or the scorers by name."""
        integer("verbose", self.verbose, least=0)
        if self.error_score != "raise" and not isinstance(self.error_score, Real):
            raise ValueError(
                f"error_score must be 'raise' or a number, got {shown(self.error_score)}"
            )
        if not isinstance(self.refit, (bool, str)):
            raise ValueError(
                "refit must be True, False or, with several metrics, the name of one, got "
                f"{shown(self.refit)}"
            )
        if isinstance(self.scoring, (list, tuple, set, dict)):
            scorers = _check_multimetric_scoring(self.estimator, self.scoring)
            if self.refit not in scorers:
                raise ValueError(not_a_metric(list(scorers), self.refit))
            return scorers
        if isinstance(self.refit, str) and not callable(self.scoring):
            raise ValueError(f"refit must be True or False with one metric, got {self.refit!r}")
        return check_scoring(self.estimator, scoring=self.scoring)

    def _search(
        self, opt: Optimizer, space: Space | Branches, job: Job
    ) -> tuple[list[Fit], list[Fit]]:
        """Fits of the search and fits that measured the recommendation."""
        searched: list[Fit] = []
        confirmed: list[Fit] = []
        parallel = Parallel(n_jobs=self.n_jobs)
        progress = Progress(opt, self.verbose > 0, logger.stream())
        while not opt.done:
            wave = opt.ask()
            ids = [trial.id for trial in wave]
            last, pairs = wave[0].kind in _LAST, wave[0].kind == "comparison"
            folds, draws = map(job.fold, ids), ids
            if last:  # each fold once before any twice, whatever the search drew
                places = range(len(confirmed), len(confirmed) + len(wave))
                folds = map(int, np.floor_divide(places, 2 if pairs else 1))
            if pairs:  # both of a pair have the seeds of one of them
                draws = [ids[i - i % 2] for i in range(len(ids))]
            fits = parallel(
                delayed(job)(draw, space.decode(trial.x), fold % len(job.folds))
                for draw, trial, fold in zip(draws, wave, folds, strict=True)
            )
            (confirmed if last else searched).extend(fits)
            opt.tell(ids, [fit.score for fit in fits])
            if self.verbose > 1:
                progress.say(*(fit.said for fit in fits))
            progress.update()
        progress.finish()
        return searched, confirmed

    def _keep(
        self, space: Space | Branches, opt: Optimizer, searched: list[Fit], confirmed: list[Fit]
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
        answer = [fit for fit in confirmed if fit.params == self.best_params_]
        other = [fit for fit in confirmed if fit.params != self.best_params_]
        rows = [*groups.values(), *filter(None, (other,))]
        rows.append(answer or [Fit(self.best_params_, 0, math.nan)])
        metrics = list(dict.fromkeys(name for fit in searched + confirmed for name in fit.test))
        self.multimetric_ = metrics != [SCORE]
        train = bool(self.return_train_score)
        self.cv_results_ = results(rows, space.names, self.n_splits_, metrics, train)
        self.best_index_ = len(rows) - 1
        best = self.result_
        self.best_score_ = best.fun if best.estimate != "unknown" else math.nan
        self.best_score_se_, self.best_score_interval_ = best.fun_se, best.interval

    def _refit(self, X: Any, y: Any, params: Mapping[str, Any], seed: int) -> None:
        start = time.perf_counter()
        self.best_estimator_ = for_refit(self.estimator, self.best_params_, seed)
        self.best_estimator_.fit(*((X,) if y is None else (X, y)), **params)
        self.refit_time_ = time.perf_counter() - start
        if hasattr(self.best_estimator_, "feature_names_in_"):
            self.feature_names_in_ = self.best_estimator_.feature_names_in_
