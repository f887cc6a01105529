"""Does a search by single fits beat random search at the same number of fits, and whose score can
be believed? ``python -m noisewise_bench.experiments.sklearn_search``

symbol      meaning
truth       mean test accuracy, on all data that no search saw, of the returned parameters fitted
            to the search's data with a few seeds
promised    ``best_score_``, what the search says of the same parameters
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import noisewise
from noisewise_bench import behaviour
from noisewise_bench.names import BenchError, numbers
from noisewise_bench.peers._common import library
from noisewise_bench.stamps import Stamp
from noisewise_bench.tables import Column, Table, plain

BUDGETS = (60, 150)
N_FOLDS = 5
#: What NoisewiseSearchCV searches with.
METHOD = "auto"
#: Fits that estimate the truth; they differ in their seeds.
N_TRUTH = 5


@dataclass(frozen=True)
class Task:
    """An estimator, the space to search, and how many rows of the data the search sees."""

    name: str
    data: str
    estimator: Any
    space: dict[str, Any]
    n_rows: int


@dataclass(frozen=True)
class Outcome:
    truth: float
    promised: float


def tasks() -> list[Task]:
    """Two parameters without seeds, three parameters with seeds, four with many local optima."""
    log = library("scipy.stats").loguniform
    scaled = library("sklearn.pipeline").make_pipeline
    scaler = library("sklearn.preprocessing").StandardScaler
    sgd = library("sklearn.linear_model").SGDClassifier
    mlp = library("sklearn.neural_network").MLPClassifier
    return [
        Task(
            "SVC, digits",
            "digits",
            library("sklearn.svm").SVC(),
            {"C": log(1e-2, 1e3), "gamma": log(1e-6, 1e-1)},
            200,
        ),
        Task(
            "SGD, breast cancer",
            "breast_cancer",
            scaled(scaler(), sgd(loss="log_loss", max_iter=20)),
            {
                "sgdclassifier__alpha": log(1e-7, 1e1),
                "sgdclassifier__eta0": log(1e-5, 1e1),
                "sgdclassifier__learning_rate": ["constant", "invscaling", "adaptive"],
            },
            150,
        ),
        Task(
            "MLP, digits",
            "digits",
            scaled(scaler(), mlp((16,), max_iter=15)),
            {
                "mlpclassifier__learning_rate_init": log(1e-5, 1.0),
                "mlpclassifier__alpha": log(1e-6, 1e1),
                "mlpclassifier__beta_1": noisewise.space.Float(0.5, 0.99),
                "mlpclassifier__batch_size": noisewise.space.Int(8, 128, log=True),
            },
            200,
        ),
    ]


def run(task: Task, budget: int, seed: int) -> tuple[Outcome, Outcome]:
    """Ours and random search with the same number of fits on the same data."""
    selection = library("sklearn.model_selection")
    X, y = getattr(library("sklearn.datasets"), f"load_{task.data}")(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(X))
    seen, rest = order[: task.n_rows], order[task.n_rows :]
    searches = (
        library("noisewise.integrations.sklearn").NoisewiseSearchCV(
            task.estimator, task.space, budget=budget, cv=N_FOLDS, random_state=seed, refit=False
        ),
        selection.RandomizedSearchCV(
            task.estimator,
            {name: _distribution(given) for name, given in task.space.items()},
            n_iter=budget // N_FOLDS,
            cv=N_FOLDS,
            random_state=seed,
            refit=False,
        ),
    )
    found = []
    for search in searches:
        search.fit(X[seen], y[seen])
        truth = _truth(task.estimator, search.best_params_, (X[seen], y[seen], X[rest], y[rest]))
        found.append(Outcome(truth, float(search.best_score_)))
    return found[0], found[1]


def _distribution(given: Any) -> Any:
    """What random search draws a parameter of ours from."""
    stats = library("scipy.stats")
    if isinstance(given, noisewise.space.Int):
        values = np.arange(given.low, given.high + 1)
        return np.unique(np.rint(np.geomspace(given.low, given.high, len(values))).astype(int))
    if isinstance(given, noisewise.space.Float):
        return stats.uniform(given.low, given.high - given.low)
    return given


def _truth(estimator: Any, params: dict[str, Any], data: tuple[Any, ...]) -> float:
    X, y, X_new, y_new = data
    scores = []
    for seed in range(N_TRUTH):
        model = library("sklearn.base").clone(estimator).set_params(**params)
        seeds = [name for name in model.get_params() if name.endswith("random_state")]
        model.set_params(**dict.fromkeys(seeds, seed))
        scores.append(model.fit(X, y).score(X_new, y_new))
    return float(np.mean(scores))


def table(seeds: Sequence[int], budgets: Sequence[int] = BUDGETS) -> Table:
    rows = tuple(row for task in tasks() for row in _rows(task, seeds, budgets))
    columns = (
        Column("task"),
        Column("parameters"),
        Column("fits"),
        Column("truth, ours", _accuracy, "mean over the seeds"),
        Column("truth, random", _accuracy),
        Column("difference", _points, "ours minus random, in percentage points"),
        Column("+-", plain, "standard error of the difference"),
        Column("ours better", lambda v: f"{v:.0%}", "share of the seeds, ties count half"),
        Column("promised - truth, ours", _points, "mean, in percentage points"),
        Column("promised - truth, random", _points),
    )
    note = (
        f"Test accuracy on all rows that the search did not see. Seeds {min(seeds)}-{max(seeds)}; "
        f"random search fits each candidate on {N_FOLDS} folds."
    )
    title = "NoisewiseSearchCV and RandomizedSearchCV at the same number of fits"
    return Table(title, columns, rows, (note,))


def _rows(task: Task, seeds: Sequence[int], budgets: Sequence[int]) -> Iterator[tuple[Any, ...]]:
    for budget in budgets:
        pairs = [run(task, budget, seed) for seed in seeds]
        truth, promised = (
            np.array([[getattr(one, what) for one in pair] for pair in pairs])
            for what in ("truth", "promised")
        )
        gain = 100.0 * (truth[:, 0] - truth[:, 1])
        error = float(gain.std(ddof=1)) / len(gain) ** 0.5 if len(gain) > 1 else float("nan")
        wins = float(np.mean((gain > 0.0) + 0.5 * (gain == 0.0)))
        bias = 100.0 * (promised - truth).mean(axis=0)
        yield (
            *(task.name, len(task.space), budget),
            *truth.mean(axis=0).tolist(),
            *(float(gain.mean()), error, wins),
            *bias.tolist(),
        )


def _accuracy(value: float) -> str:
    return f"{value:.4f}"


def _points(value: float) -> str:
    return f"{value:+.2f}"


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Search by single fits against random search.")
    parser.add_argument("--seeds", default="1-20", help="data and searches, such as 1-20")
    parser.add_argument("--budgets", default="60,150", help="fits per search, such as 60,150")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the page (out)")
    args = parser.parse_args(argv)
    try:
        seeds, budgets = numbers(args.seeds, "seeds"), numbers(args.budgets, "budgets")
    except BenchError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # fits that did not converge, by the hundred
        found = table(seeds, budgets)
    args.out.mkdir(parents=True, exist_ok=True)
    command = (
        "python -m noisewise_bench.experiments.sklearn_search "
        f"--seeds {args.seeds} --budgets {args.budgets}"
    )
    page = (
        "# A scikit-learn search by single fits\n\n"
        f"Printed by `{command}` (noisewise {noisewise.__version__}).\n\n{found.markdown()}\n\n"
        f"{Stamp(methods={METHOD: behaviour.of_method(METHOD)}).comment()}\n"
    )
    (args.out / "sklearn.md").write_text(page, encoding="utf-8")
    (args.out / "sklearn-1.csv").write_text(found.csv().rstrip("\n") + "\n", encoding="utf-8")
    print(page)
    return 0


if __name__ == "__main__":
    sys.exit(main())
