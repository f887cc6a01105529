"""Small tuning tasks: scikit-learn models on random splits, and a softmax classifier.

task           coordinates                            box
svm            log10 C, log10 gamma                   [-3, 3], [-4, 2]
tree           depth, smallest leaf, log10 pruning    [1, 12], [1, 40], [-4, -0.5]
kernel-ridge   log10 alpha, log10 gamma               [-4, 4], [-4, 2]
sgd            log10 penalty, log10 rate,             [-6, 0], [-4, 1],
               share of L1, log2 epochs               [0, 1], [0, 4]
softmax        18 weights and 3 biases                [-3, 3]^21

The first four draw a training and a test set anew for every evaluation.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Final, final

import numpy as np

from ...problem import FloatArray
from .._optional import optional
from .._truth import LastBatch
from ._task import SimulatedTask, task_rng

#: Share of the data set that a seed keeps: seeds are different, similar problems.
KEPT: Final = 0.8


def _data(name: str, seed: int) -> tuple[FloatArray, Any]:
    """Standardised features and targets of the rows that the seed keeps."""
    features, targets = getattr(optional("sklearn.datasets"), f"load_{name}")(return_X_y=True)
    rows = task_rng(seed, stream=21).permutation(len(targets))[: int(KEPT * len(targets))]
    F = np.asarray(features[rows], dtype=float)
    spread = F.std(axis=0)
    return (F - F.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0), targets[rows]


class SplitTask(SimulatedTask):
    """Test error of a scikit-learn model fitted to a random part of the data."""

    n_truth = 40
    data: ClassVar[str]
    n_train: ClassVar[int]
    n_test: ClassVar[int]

    def __init__(self, name: str, seed: int, start: Any, low: Any, high: Any) -> None:
        super().__init__(f"small-task/{name}/s{seed}", np.array(start), low, high, seed)
        self._features, self._targets = _data(self.data, seed)

    def noisy(self, X: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Error on one random split per row."""
        assert self.bounds is not None
        X = np.clip(X, *self.bounds)
        config = optional("sklearn").config_context(
            assume_finite=True, skip_parameter_validation=True
        )
        with config:
            seeds = rng.integers(2**31, size=len(X))
            return np.array([self._one(x, int(s)) for x, s in zip(X, seeds, strict=True)])

    def _one(self, x: FloatArray, seed: int) -> float:
        rows = np.random.default_rng(seed).permutation(len(self._targets))
        train, test = rows[: self.n_train], rows[self.n_train : self.n_train + self.n_test]
        F, y = self._features, self._targets
        predicted = self._model(x, seed).fit(F[train], self._label(y[train])).predict(F[test])
        return self._error(predicted, self._label(y[test]))

    @abstractmethod
    def _model(self, x: FloatArray, seed: int) -> Any:
        """The model with the hyperparameters ``x``, not fitted yet."""

    def _label(self, y: Any) -> Any:
        return y

    def _error(self, predicted: Any, y: Any) -> float:
        return float(np.mean(predicted != y))


@final
class SVM(SplitTask):
    """Breast cancer, 80 rows to train, 120 to test."""

    budget, data, n_train, n_test = 40, "breast_cancer", 80, 120

    def __init__(self, seed: int = 1) -> None:
        super().__init__("svm", seed, [0.0, -1.0], [-3.0, -4.0], [3.0, 2.0])

    def _model(self, x: FloatArray, seed: int) -> Any:
        return optional("sklearn.svm").SVC(C=10.0 ** x[0], gamma=10.0 ** x[1])


@final
class Tree(SplitTask):
    """Wine classes from a pruned decision tree: plateaus, because depth and leaf are whole."""

    budget, data, n_train, n_test = 60, "wine", 60, 80

    def __init__(self, seed: int = 1) -> None:
        super().__init__("tree", seed, [6.0, 20.0, -2.0], [1.0, 1.0, -4.0], [12.0, 40.0, -0.5])

    def _model(self, x: FloatArray, seed: int) -> Any:
        return optional("sklearn.tree").DecisionTreeClassifier(
            max_depth=round(x[0]),
            min_samples_leaf=round(x[1]),
            ccp_alpha=10.0 ** x[2],
            random_state=seed,
        )


@final
class KernelRidge(SplitTask):
    """Diabetes progression; the error is the root mean square in units of the target."""

    budget, data, n_train, n_test = 40, "diabetes", 100, 150

    def __init__(self, seed: int = 1) -> None:
        super().__init__("kernel-ridge", seed, [0.0, -1.0], [-4.0, -4.0], [4.0, 2.0])

    def _model(self, x: FloatArray, seed: int) -> Any:
        ridge = optional("sklearn.kernel_ridge").KernelRidge
        return ridge(alpha=10.0 ** x[0], gamma=10.0 ** x[1], kernel="rbf")

    def _label(self, y: Any) -> Any:
        return y - float(np.mean(self._targets))

    def _error(self, predicted: Any, y: Any) -> float:
        return float(np.sqrt(np.mean((predicted - y) ** 2)))


@final
class SGD(SplitTask):
    """Is the digit an eight? A linear classifier after a few epochs of stochastic gradient."""

    budget, data, n_train, n_test = 80, "digits", 150, 300

    def __init__(self, seed: int = 1) -> None:
        low, high = [-6.0, -4.0, 0.0, 0.0], [0.0, 1.0, 1.0, 4.0]
        super().__init__("sgd", seed, [-3.0, -1.5, 0.5, 2.0], low, high)

    def _model(self, x: FloatArray, seed: int) -> Any:
        return optional("sklearn.linear_model").SGDClassifier(
            alpha=10.0 ** x[0],
            eta0=10.0 ** x[1],
            l1_ratio=float(x[2]),
            max_iter=round(2.0 ** x[3]),
            penalty="elasticnet",
            learning_rate="constant",
            tol=None,
            random_state=seed,
        )

    def _label(self, y: Any) -> Any:
        return np.asarray(y) == 8


@final
class Softmax:
    """Wine classes from six principal components, 16 rows per evaluation; exact truth.

    The value is the mean log-loss plus 0.005 |w|^2; its minimum is not subtracted.
    """

    budget = 150
    BATCH: Final = 16
    PENALTY: Final = 0.01
    BOX: Final = 3.0
    N_FEATURES: Final = 6

    def __init__(self, seed: int = 1) -> None:
        self._seed, self.name = seed, f"small-task/softmax/s{seed}"
        features, labels = _data("wine", seed)
        _, _, axes = np.linalg.svd(features - features.mean(axis=0), full_matrices=False)
        scores = features @ axes[: self.N_FEATURES].T
        F = np.hstack([scores / scores.std(axis=0), np.ones((len(scores), 1))])
        self._features, self._labels = F, np.asarray(labels, dtype=int)
        d = 3 * F.shape[1]
        self.x0: FloatArray = np.zeros(d)
        self.bounds: tuple[FloatArray, FloatArray] | None = (
            np.full(d, -self.BOX),
            np.full(d, self.BOX),
        )
        everything = np.arange(len(F))
        self._truth: LastBatch[FloatArray] = LastBatch(
            lambda X: self._loss(X, np.tile(everything, (len(X), 1))), d
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return Softmax, (self._seed,)

    def noisy(self, X: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Loss on one minibatch per row, in nats."""
        return self._loss(X, rng.integers(len(self._labels), size=(len(X), self.BATCH)))

    def regret(self, X: FloatArray) -> FloatArray:
        """Loss over all rows, in nats."""
        return np.array(self._truth(X))

    def _loss(self, X: FloatArray, rows: Any) -> FloatArray:
        W = X.reshape(len(X), 3, -1)
        logits = self._features[rows] @ W.transpose(0, 2, 1)
        right = np.take_along_axis(logits, self._labels[rows][:, :, None], axis=2)[:, :, 0]
        loss = np.logaddexp.reduce(logits, axis=2) - right
        return np.asarray(loss.mean(axis=1) + 0.5 * self.PENALTY * np.sum(X * X, axis=1))
