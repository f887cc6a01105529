"""What is believed about the hyperparameters before the first value."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from noisewise._types import FloatArray
from noisewise.gp.kernel import Hyper


@dataclass(frozen=True)
class Prior:
    """Normal priors of the logarithms, and the box in which the fit searches.

    Length scales grow with the root of the dimension, because distances in the unit cube do.
    """

    mean: FloatArray
    sd: FloatArray
    low: FloatArray
    high: FloatArray
    #: Whether seeds add something to all values that share them.
    shared: bool = False
    #: Numbers of options of the choices.
    options: tuple[int, ...] = ()

    @classmethod
    def standard(cls, dimension: int, shared: bool = False, options: tuple[int, ...] = ()) -> Prior:
        """For standardised values and points in the unit cube, the last columns of which are
        choices between so many ``options``; ``shared``: where seeds are."""
        q = len(options)
        d = dimension - q
        grown = 0.5 * np.log(max(d, 1))
        mean = np.concatenate([np.full(d, np.log(0.5) + grown), [-0.5, -2.0, -2.0]])
        sd = np.concatenate([np.full(d, 1.0), [1.0, 1.5, 1.5]])
        low = np.concatenate([np.full(d, np.log(0.01)), [-7.0, -12.0, np.log(1e-5)]])
        high = np.concatenate([np.full(d, np.log(50.0) + grown), [4.0, 4.0, 2.0]])
        prior = cls(mean, sd, low, high, shared, options)
        if options:
            prior = prior._with(
                [-0.5 - 0.5 * np.log(q), -0.5], [1.0, 1.0], [-7.0, -5.0], [3.0, 2.0]
            )
        return prior._with([-1.5], [1.5], [-7.0], [2.0]) if shared else prior

    def _with(
        self, mean: list[float], sd: list[float], low: list[float], high: list[float]
    ) -> Prior:
        return replace(
            self,
            mean=np.append(self.mean, mean),
            sd=np.append(self.sd, sd),
            low=np.append(self.low, low),
            high=np.append(self.high, high),
        )

    def start(self) -> Hyper:
        """The centre of the prior."""
        return self.hyper(self.mean)

    def hyper(self, theta: FloatArray) -> Hyper:
        """The hyperparameters in a vector."""
        return Hyper.of(theta, self.shared, self.options)

    def suited(self, hyper: Hyper) -> Hyper:
        """``hyper`` as a start of the fit: with a variance of seeds where this has one."""
        if self.shared == (hyper.shared is not None):
            return hyper
        return replace(hyper, shared=float(self.mean[-1]) if self.shared else None)
