"""Linear policies and small networks.

| symbol | meaning | shape |
|---|---|---|
| x | parameters, layer by layer: weights row by row, then biases | (d,) |
| o | observation, flattened | (n_in,) |
| W, b | weights and biases of a layer, divided by sqrt(n_in + 1) | (n_out, n_in), (n_out,) |
| z | outputs: W tanh(... tanh(W o + b) ...) + b | (m,) |

With standard normal parameters and observations of about unit size the input of every unit has
about unit size, so that one step size fits all parameters.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from noisewise._types import FloatArray
from noisewise.policy.actions import Actions, from_dict
from noisewise.policy.scaling import Scaling


@dataclass(frozen=True)
class Network:
    """A policy with ``hidden`` layers of tanh units; without any, a linear one.

    >>> import numpy as np
    >>> from noisewise.policy.actions import Numbered
    >>> policy = Network(4, Numbered(2), hidden=(8,))
    >>> policy.size, policy.act(np.ones(policy.size), np.zeros(4))
    (49, 1)
    """

    inputs: int
    actions: Actions
    hidden: tuple[int, ...] = ()

    @property
    def layers(self) -> list[tuple[int, int]]:
        """Inputs and outputs of each layer."""
        return list(pairwise((self.inputs, *self.hidden, self.actions.outputs)))

    @property
    def size(self) -> int:
        """Number of parameters."""
        return sum((n + 1) * m for n, m in self.layers)

    def act(self, x: FloatArray, observation: Any) -> Any:
        """The action of the policy with parameters ``x``."""
        return self.bind(x)(observation)

    def bind(self, x: FloatArray, scaling: Scaling | None = None) -> Callable[[Any], Any]:
        """The policy with these parameters, as a function of the observation."""
        weights, at = [], 0
        for n, m in self.layers:
            part = x[at : at + (n + 1) * m] / math.sqrt(n + 1)
            weights.append((part[: n * m].reshape(m, n), part[n * m :]))
            at += (n + 1) * m
        if scaling is not None:  # into the first layer, so that it costs no time
            W, b = weights[0]
            W = W / scaling.scale
            weights[0] = W, b - W @ scaling.shift
        (W, b), deeper, action, inputs = weights[0], weights[1:], self.actions.action, self.inputs

        def act(observation: Any) -> Any:
            o = np.asarray(observation, dtype=float).ravel()
            if len(o) != inputs:
                raise ValueError(
                    f"an observation must have {inputs} numbers, as the environment declares, "
                    f"got {len(o)}"
                )
            z = W @ o + b
            for V, c in deeper:
                z = V @ np.tanh(z) + c
            return action(z)

        return act

    def rescale(self, x: FloatArray, old: Scaling, new: Scaling) -> FloatArray:
        """Parameters that make the same policy with another scaling of observations."""
        n, m = self.layers[0]
        W, out = x[: n * m].reshape(m, n) / old.scale, np.array(x)
        out[: n * m] = (W * new.scale).ravel()
        out[n * m : (n + 1) * m] += W @ (new.shift - old.shift)
        return out

    def as_dict(self) -> dict[str, Any]:
        """Plain data from which `network_from` makes the same network."""
        return {
            "inputs": self.inputs,
            "hidden": list(self.hidden),
            "actions": self.actions.as_dict(),
        }


def network_from(content: dict[str, Any]) -> Network:
    """The inverse of `Network.as_dict`."""
    hidden = tuple(int(n) for n in content["hidden"])
    return Network(int(content["inputs"]), from_dict(content["actions"]), hidden)
