"""The other side of `isolated` for BoTorch, Optuna's GPSampler and SMAC: run as a script.

Lines of JSON, with no import from this project. In: a task, then ``{"y": [values]}`` for every
batch that was asked for, then perhaps the next task. Out: ``{"x": [points]}``; the last line of
a task is ``{"recommended": point}``. Points are in the task's box, or within five ``sigma0`` of
``x0`` where it has none.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from typing import Any, TextIO

import numpy as np


class Model:
    """What the server drives: points in the unit cube out, values in, at the end one point."""

    def ask(self, n: int) -> Any:
        """At most ``n`` points, rows in the unit cube."""
        raise NotImplementedError

    def tell(self, U: Any, y: Any) -> None:
        raise NotImplementedError

    def recommend(self) -> Any:
        raise NotImplementedError


class BoTorch(Model):
    """SingleTaskGP and qLogNoisyExpectedImprovement, two points at a time, after a Sobol start.

    Recommends the evaluated point of the smallest posterior mean.
    """

    BATCH = 2

    def __init__(self, task: dict[str, Any]) -> None:
        import torch

        torch.set_num_threads(1)
        torch.manual_seed(task["seed"])
        self.d, self.seed = len(task["x0"]), task["seed"]
        self.start = torch.quasirandom.SobolEngine(self.d, scramble=True, seed=self.seed)
        self.n_start = min(max(4, 2 * self.d), max(1, task["budget"] // 2))
        self.U, self.y = np.empty((0, self.d)), np.empty(0)

    def ask(self, n: int) -> Any:
        import torch
        from botorch.acquisition.logei import qLogNoisyExpectedImprovement
        from botorch.optim import optimize_acqf

        if len(self.y) < self.n_start:
            wanted = min(n, self.n_start - len(self.y))
            return self.start.draw(wanted, dtype=torch.float64).numpy()
        model, U = self.fitted()
        acquisition = qLogNoisyExpectedImprovement(model, U, prune_baseline=True)
        cube = torch.stack([torch.zeros(self.d), torch.ones(self.d)]).to(torch.float64)
        found, _ = optimize_acqf(
            acquisition, cube, q=min(n, self.BATCH), num_restarts=4, raw_samples=128
        )
        return found.detach().numpy()

    def fitted(self) -> Any:
        """The model of minus the values, because BoTorch maximises."""
        import torch
        from botorch.fit import fit_gpytorch_mll
        from botorch.models import SingleTaskGP
        from botorch.models.transforms import Standardize
        from gpytorch.mlls import ExactMarginalLogLikelihood

        U, y = torch.tensor(self.U), torch.tensor(-self.y)[:, None]
        model = SingleTaskGP(U, y, outcome_transform=Standardize(1))
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        return model, U

    def tell(self, U: Any, y: Any) -> None:
        self.U, self.y = np.vstack([self.U, U]), np.append(self.y, y)

    def recommend(self) -> Any:
        if len(self.y) < 2 or np.ptp(self.y) == 0.0:
            return self.U[int(np.argmin(self.y))]
        model, U = self.fitted()
        mean = model.posterior(U).mean.detach().numpy()[:, 0]
        return self.U[int(np.argmax(mean))]


class OptunaGP(Model):
    """Optuna's GPSampler with a learned noise variance; recommends the luckiest draw."""

    def __init__(self, task: dict[str, Any]) -> None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        sampler = optuna.samplers.GPSampler(seed=task["seed"], deterministic_objective=False)
        self.study = optuna.create_study(sampler=sampler)
        self.ranges = {
            f"x{i}": optuna.distributions.FloatDistribution(0.0, 1.0)
            for i in range(len(task["x0"]))
        }
        low, high = box(task)
        start = np.clip((np.array(task["x0"]) - low) / (high - low), 0.0, 1.0)
        self.study.enqueue_trial(dict(zip(self.ranges, start.tolist(), strict=True)))

    def ask(self, n: int) -> Any:
        self.trial = self.study.ask(self.ranges)
        return np.array([[self.trial.params[name] for name in self.ranges]])

    def tell(self, U: Any, y: Any) -> None:
        self.study.tell(self.trial, float(y[0]))

    def recommend(self) -> Any:
        return np.array([self.study.best_trial.params[name] for name in self.ranges])


class SMAC(Model):
    """SMAC's random-forest facade on a noisy target; recommends its incumbent."""

    def __init__(self, task: dict[str, Any]) -> None:
        from ConfigSpace import ConfigurationSpace
        from smac import HyperparameterOptimizationFacade, Scenario

        self.names = [f"x{i:03d}" for i in range(len(task["x0"]))]
        space = ConfigurationSpace(dict.fromkeys(self.names, (0.0, 1.0)), seed=task["seed"])
        self.folder = tempfile.TemporaryDirectory(prefix="smac")  # gone with this object
        scenario = Scenario(
            space,
            deterministic=False,
            n_trials=max(task["budget"], 2),
            seed=task["seed"] % 2**31,
            output_directory=self.folder.name,
        )
        # The target is never called: points are asked for and told.
        self.facade = HyperparameterOptimizationFacade(
            scenario, lambda config, seed=0: 0.0, logging_level=False, overwrite=True
        )

    def ask(self, n: int) -> Any:
        self.trial = self.facade.ask()
        return self._rows(self.trial.config)

    def tell(self, U: Any, y: Any) -> None:
        from smac.runhistory import TrialValue

        self.facade.tell(self.trial, TrialValue(cost=float(y[0])))

    def recommend(self) -> Any:
        incumbent = self.facade.intensifier.get_incumbents()
        return self._rows(incumbent[0] if incumbent else self.trial.config)[0]

    def _rows(self, config: Any) -> Any:
        return np.array([[float(config[name]) for name in self.names]])


MODELS: dict[str, Callable[[dict[str, Any]], Model]] = {
    "botorch": BoTorch,
    "optuna-gp": OptunaGP,
    "smac": SMAC,
}


def box(task: dict[str, Any]) -> tuple[Any, Any]:
    """The task's box, or five ``sigma0`` around ``x0`` where it is open."""
    x0, reach = np.array(task["x0"]), 5.0 * task["sigma0"]
    low = np.array(task["low"]) if task["low"] is not None else x0 - reach
    high = np.array(task["high"]) if task["high"] is not None else x0 + reach
    return (
        np.where(np.isfinite(low), low, x0 - reach),
        np.where(np.isfinite(high), high, x0 + reach),
    )


def serve(lines: Iterator[str], out: TextIO, make: Callable[[dict[str, Any]], Model]) -> None:
    """Answer task after task: batches until its budget is gone, then the recommendation."""
    for line in lines:
        task = json.loads(line)
        model, (low, high) = make(task), box(task)
        left = task["budget"]
        while left:
            U = np.clip(model.ask(left), 0.0, 1.0)
            print(json.dumps({"x": (low + U * (high - low)).tolist()}), file=out, flush=True)
            model.tell(U, np.array(json.loads(next(lines))["y"], dtype=float))
            left -= len(U)
        final = low + np.clip(model.recommend(), 0.0, 1.0) * (high - low)
        print(json.dumps({"recommended": final.tolist()}), file=out, flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever a library prints must not end up between the answers
    serve(iter(sys.stdin.readline, ""), answers, lambda task: MODELS[task["optimizer"]](task))
