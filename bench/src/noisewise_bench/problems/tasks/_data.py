"""Small labelled data sets that come with scikit-learn, drawn and standardised per task seed."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Literal

import numpy as np

from ...problem import FloatArray
from .._optional import optional
from ._task import task_rng

DataName = Literal["digits", "breast-cancer"]
N_ROWS = 256


@lru_cache(maxsize=2)
def _load(data: DataName) -> Any:
    sets = optional("sklearn.datasets")
    if data == "digits":
        features, labels = sets.load_digits(return_X_y=True)
        return features / 16.0, labels == 0
    if data == "breast-cancer":
        return sets.load_breast_cancer(return_X_y=True)
    raise ValueError(f"data is {data!r}, it takes 'digits' or 'breast-cancer'")


def sample_rows(data: DataName, seed: int) -> tuple[FloatArray, FloatArray]:
    """256 rows drawn with replacement: standardised features (256, p) and labels 0/1 (256,).

    ``digits`` asks whether the digit is a zero; columns that do not vary become zero.
    """
    features, labels = _load(data)
    rows = task_rng(seed, stream=4).integers(len(labels), size=N_ROWS)
    F = np.asarray(features[rows], dtype=float)
    spread = F.std(axis=0)
    return (F - F.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0), labels[rows].astype(float)


def log_loss(logit: FloatArray, label: FloatArray) -> FloatArray:
    """Negative log-likelihood of each label, in nats."""
    return np.asarray(np.logaddexp(0.0, logit) - label * logit)
