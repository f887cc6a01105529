"""Pinned proposals and answers: what digests cannot see, compared to a tolerance.

Two kinds of runs, both on fixed seeds:

- **Followed**: whatever a model proposes, the values it is told were measured at points of a fixed
  design that closes in on the optimum. What it proposes next then depends on those points and
  values alone, so rounding in one proposal is not amplified by the next: changing all values by
  1e-9 of them moves no proposal by more than 1e-6 of the box. There is always some noise, since
  without it measurements are worth next to nothing, and rounding chooses. Proposals are pinned.
- **Whole**: runs with ``confirm="auto"``, with the reserve, the race, the confirmation and the
  interval. Answers are pinned.

``python -m noisewise_bench.pins > tests/digests/pins.json`` renews them after an intended change;
with names of cases it prints only those.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import noisewise as nw
from noisewise._types import FloatArray
from noisewise.methods import Auto, Method
from noisewise.methods.auto_tuning import AutoTuning

#: Significant digits that are kept.
_DIGITS = 7
#: Every so many proposals of a model are pinned.
_EVERY = 4
Pin = dict[str, Any]
#: `auto` that hands over as soon as the model does not predict.
_EARLY = Auto(tuning=AutoTuning(hands_over_each=1))


@dataclass(frozen=True)
class Followed:
    """A run in the unit cube whose values are measured at points of a fixed design."""

    method: str | Method = "gp"
    d: int = 2
    budget: int = 36
    #: Standard deviation of the noise.
    noise: float = 0.05
    #: Whether noise grows with the value instead of being the same everywhere.
    relative: bool = False
    #: Whether the values say nothing about the points.
    hopeless: bool = False
    #: Whether evaluations fail in a corner.
    failing: bool = False
    constrained: bool = False
    options: dict[str, Any] = field(default_factory=dict)

    def pin(self) -> Pin:
        """Every fourth proposal, and the answer."""
        design, opt = self._design(), self._optimizer()
        proposed: dict[str, list[float]] = {}
        while not opt.done:
            for trial in opt.ask():
                if trial.id % _EVERY == 0:
                    proposed[str(trial.id)] = _rounded(trial.x)
                # The answer is measured where it is, else the measurement would count as failed.
                x = trial.x if trial.kind == "confirmation" else design[trial.id]
                value, limits = self._measured(trial, x)
                opt.tell(trial.id, value, x=x, constraints=limits)
        return {"proposed": proposed} | answer(opt.result())

    def _design(self) -> FloatArray:
        rng = np.random.default_rng([self.budget, self.d])
        width = np.geomspace(1.0, 0.1, self.budget)[:, None]
        return np.asarray(np.clip(0.4 + width * (rng.random((self.budget, self.d)) - 0.5), 0, 1))

    def _optimizer(self) -> nw.Optimizer:
        data = None
        options = dict(self.options)
        if options.pop("data", False):
            X = np.random.default_rng(9).random((20, self.d))
            data = (X, 3.0 + 2.0 * self._truth(X) + 0.05 * np.random.default_rng(8).normal(size=20))
        bounds = [(0.0, 1.0)] * self.d
        given: dict[str, Any] = {"confirm": 4, "rng": 3, "data": data} | options
        return nw.Optimizer(bounds=bounds, budget=self.budget, method=self.method, **given)

    def _truth(self, X: FloatArray) -> FloatArray:
        scale = np.geomspace(1.0, 4.0, self.d)
        return np.asarray(((X - 0.4) ** 2) @ scale)

    def _measured(self, trial: nw.Trial, x: FloatArray) -> tuple[float, Any]:
        own = np.random.default_rng([trial.id, 5]).normal()
        truth = 0.0 if self.hopeless else float(self._truth(x[None])[0])
        value = truth * math.exp(self.noise * own) if self.relative else truth + self.noise * own
        if trial.seed is not None:  # what the seed adds to all values
            value += float(np.random.default_rng(trial.seed).normal())
        if self.failing and x.min() < 0.2:
            value = math.nan
        return value, [0.6 - float(x[0])] if self.constrained else None


@dataclass(frozen=True)
class Whole:
    """A run from the start to its answer, with ``confirm="auto"``."""

    method: str
    budget: int = 300
    d: int = 3
    #: "normal", "none", "outcomes" (won or lost) or "skewed".
    noise: str = "normal"
    options: dict[str, Any] = field(default_factory=dict)

    def pin(self) -> Pin:
        """The answer."""
        opt = nw.Optimizer(
            [1.5] * self.d, sigma0=0.8, budget=self.budget, method=self.method, rng=3,
            **self.options,
        )  # fmt: skip
        while not opt.done:
            for trial in opt.ask():
                opt.tell(trial.id, self._value(trial))
        return answer(opt.result())

    def _value(self, trial: nw.Trial) -> float:
        rng = np.random.default_rng([trial.id, 5])
        truth = float((trial.x - 0.25) @ (trial.x - 0.25))
        draw: Callable[[], float] = {
            "normal": lambda: truth + 0.5 * rng.normal(),
            "none": lambda: truth,
            "outcomes": lambda: float(rng.random() < 1.0 - math.exp(-0.5 * truth - 0.1)),
            "skewed": lambda: truth + float(rng.exponential(0.5)),
        }[self.noise]
        return draw()


#: By name; what each of them is for is in its name.
CASES: dict[str, Followed | Whole] = {
    "gp, in charge": Followed(),
    "gp, little noise": Followed(noise=0.01),
    "gp, five parameters": Followed(d=5, budget=48),
    "gp, strong noise": Followed(d=3, budget=48, noise=1.0),
    "gp, focus": Followed(noise=0.7, relative=True, budget=60),
    "gp, failures": Followed(failing=True),
    "gp, constraints": Followed(constrained=True),
    "gp, common seeds": Followed(options={"seeds": "common"}),
    "gp, earlier data": Followed(options={"data": True}),
    "gp, workers": Followed(options={"workers": 3}),
    "auto, in charge": Followed("auto", budget=40),
    "auto, hand-over": Followed(_EARLY, d=6, budget=150, noise=1.0, hopeless=True),
    "auto, opening": Followed("auto", d=3, budget=310, noise=0.06),
    "auto, keeping": Followed("auto", d=1, budget=130, noise=0.05),
    "auto, begun anew": Followed("auto", d=3, budget=310, noise=1.0),
    "whole, watchful": Whole("watchful"),
    "whole, watchful, long": Whole("watchful", budget=1500),
    "whole, watchful, ten parameters": Whole("watchful", budget=600, d=10),
    "whole, watchful, no noise": Whole("watchful", noise="none"),
    "whole, watchful, outcomes": Whole("watchful", noise="outcomes"),
    "whole, watchful, skewed": Whole("watchful", noise="skewed"),
    "whole, watchful, batches": Whole("watchful", options={"batch": 8}),
    "whole, watchful, workers": Whole("watchful", options={"workers": 4}),
    "whole, cma-es": Whole("cma-es"),
    "whole, rb-pem": Whole("rb-pem"),
    "whole, gp": Whole("gp", budget=30, d=2),
    "whole, auto": Whole("auto", budget=30, d=2),
}


def answer(r: nw.Result) -> Pin:
    """What a run answered and how it came to it."""
    shares = r.history.get("noise_share")
    return {
        "x": _rounded(r.x),
        "fun": _rounded([r.fun, r.fun_se, *r.interval]),
        "estimate": r.estimate,
        "evaluations": [r.nfev, r.n_confirmations, r.n_failures],
        "rounds": len(r.history["evaluations"]),
        "noise share": [] if shares is None else _rounded(shares[-1:]),
    }


def _rounded(values: Any) -> list[float]:
    return [float(f"{value:.{_DIGITS - 1}e}") for value in values]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("cases", nargs="*", help="names of cases; all by default")
    chosen = parser.parse_args().cases or list(CASES)
    lines = (f"{json.dumps(name)}: {json.dumps(CASES[name].pin())}" for name in chosen)
    print("{\n" + ",\n".join(lines) + "\n}")


if __name__ == "__main__":
    main()
