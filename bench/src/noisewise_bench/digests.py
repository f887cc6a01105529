"""Behavioural digests: a short fingerprint of the points that a method asks for.

A digest belongs to a method and a setting (workers, bounds, failures, a resume in the middle and
so on). It is a hash of all points asked for on fixed seeds and of the one returned, rounded so that
another BLAS gives the same. As long as it stays the same, tables made with the method are still
true of the code. ``python -m noisewise_bench.digests`` prints the digests of the named methods.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import noisewise as nw

#: Significant digits that enter a digest.
_DIGITS = 6
_D = 4
Settings = dict[str, Any]

#: Arguments of `noisewise.Optimizer` by setting, and how the run is driven ("drive").
SETTINGS: dict[str, Settings] = {
    "plain": {},
    "deterministic": {"noise": 0.0},
    "one parameter": {"x0": [2.0], "budget": 40},
    "ten parameters": {"x0": [1.0] * 10, "budget": 160},
    "tiny budget": {"budget": 9},
    "box": {"bounds": ([-1.0, -5.0, 0.5, -2.0], [3.0, 5.0, 4.0, 2.0])},
    "half open": {"bounds": [(None, 2.5), (-1.0, None), (None, None), (-3.0, 3.0)]},
    "confirmed": {"confirm": 7},
    "failures": {"failing": 0.2},
    "workers": {"workers": 4, "budget": 240},
    "workers, any order": {"workers": 4, "shuffled": True},
    "batch": {"batch": 7, "shuffled": True},
    "resumed": {"resumed": True},
    "long": {"budget": 450},
    "heavy tails": {"noise": 1.0, "tails": True, "budget": 200},
}


def _value(trial: nw.Trial, given: Settings) -> float:
    """An ill-conditioned quadratic with noise that belongs to the trial."""
    rng = np.random.default_rng([trial.id, 5])
    if rng.random() < given.get("failing", 0.0):
        return float("nan")
    noise = float(rng.standard_t(2.0) if given.get("tails") else rng.normal())
    scale = 10.0 ** np.linspace(0.0, 1.0, len(trial.x))
    strength = 0.3 * float(given.get("noise", 1.0))
    return float(scale @ (trial.x - 0.25) ** 2) * (1.0 + strength * noise)


def run(method: Any, setting: str) -> str:
    """The digest of ``method`` in one of the `SETTINGS`."""
    given = SETTINGS[setting]
    known = ("bounds", "confirm", "workers", "batch")
    options = {name: given[name] for name in known if name in given} or {}
    options.setdefault("confirm", 0)
    start = given.get("x0", [2.0] * _D)
    if method.lists == "all":  # a list, of as many options as there are coordinates elsewhere
        options.pop("bounds", None)
        problem: dict[str, Any] = {"space": {"option": list(range(3 * len(start)))}}
    else:
        problem = {"x0": start, "sigma0": 0.8}
    opt = nw.Optimizer(
        **problem,
        budget=given.get("budget", 120),
        method=method,
        rng=3,
        **options,
    )
    points = _drive(opt, method, given)
    result = opt.result() if not given.get("resumed") else points.pop(-1)
    if has_a_model(result):
        first = before_the_model(len(points[0]))
        points = {i: x for i, x in points.items() if i < first}
        result = nw.Result(x=np.empty(0))
    final = np.asarray(result.x).tolist()
    text = json.dumps([[i, _rounded(x)] for i, x in sorted(points.items())] + [_rounded(final)])
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _drive(opt: nw.Optimizer, method: Any, given: Settings) -> dict[int, Any]:
    """All points asked for, by id; under -1 the result, where the run went through a file."""
    points: dict[int, Any] = {}
    order = np.random.default_rng(11) if given.get("shuffled") else None
    waiting: list[nw.Trial] = []
    halfway = opt.budget // 2
    while not opt.done and not _only_the_model_is_left(opt, points):
        more = opt.ask()
        points.update({t.id: t.x.tolist() for t in more})
        waiting += more
        if order is not None:
            order.shuffle(waiting)
        count = len(waiting) if order is None else max(1, len(waiting) // 2)
        for trial in waiting[:count]:
            opt.tell(trial.id, _value(trial, given))
            if given.get("resumed") and opt.spent == halfway:
                opt, waiting, count = _through_a_file(opt, method), [], 0
                break
        waiting = waiting[count:]
    if given.get("resumed"):
        points[-1] = opt.result()
    return points


def _only_the_model_is_left(opt: nw.Optimizer, points: dict[int, Any]) -> bool:
    """Whether all points that enter the digest are there: the others take long to propose."""
    if "noise_share" not in opt.method.columns or not points:
        return False
    return len(points) >= before_the_model(len(points[0])) and has_a_model(opt.result())


def _through_a_file(opt: nw.Optimizer, method: Any) -> nw.Optimizer:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.nw"
        opt.save(path)
        return nw.Optimizer.load(path, method)


def _rounded(values: list[float]) -> list[str]:
    return [f"{value:.{_DIGITS - 1}e}" for value in values]


def has_a_model(result: nw.Result) -> bool:
    """Whether a model has proposed, or will propose, points of this run. Fitting it amplifies
    rounding, which differs between machines, so these points enter no digest."""
    return not np.isnan(result.history.get("noise_share", np.nan)).all()


def before_the_model(d: int) -> int:
    """Points that enter a digest where a model proposes the later ones: its start design."""
    return max(3, 2 * d)


def digests(method: Any) -> dict[str, str]:
    """The digest of ``method`` in every setting."""
    return {setting: run(method, setting) for setting in SETTINGS}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("methods", nargs="*", help="names of methods; all by default")
    chosen = parser.parse_args().methods or [n for n in nw.list_methods() if n != "pem"]
    build: Callable[[str], Any] = nw.methods.get
    print(json.dumps({name: digests(build(name)) for name in chosen}, indent=1))


if __name__ == "__main__":
    main()
