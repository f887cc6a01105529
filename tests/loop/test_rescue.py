"""Values that are there when a run is interrupted: told if the state is whole, and always kept."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import noisewise as nw
from noisewise.executors.base import Evaluator, Limits, Outcome, Spec
from noisewise.problem.trial import Trial
from noisewise.problem.values import Value
from noisewise.run.search import Search


class Slow(Spec):
    """Brings one value at a time; values that came since are there when nobody waits."""

    def __init__(self, interrupt_after: int | None = None) -> None:
        self.interrupt_after = interrupt_after

    def start(self, fun: Callable[..., Any], args: tuple[Any, ...], limits: Limits) -> Evaluator:
        return _Slow(fun, self.interrupt_after)


class _Slow(Evaluator):
    def __init__(self, fun: Callable[..., Any], interrupt_after: int | None) -> None:
        super().__init__()
        self._fun, self._left = fun, interrupt_after
        self._queue: deque[Trial] = deque()

    def submit(self, trials: list[Trial]) -> None:
        self._queue.extend(trials)

    def receive(self, block: bool) -> None:
        if block and self._left is not None:
            if self._left == 0:
                raise KeyboardInterrupt
            self._left -= 1
        trial = self._queue.popleft()
        self.finished.append(Outcome(trial.id, self._fun(trial.x)))


GIVEN: dict[str, Any] = {
    "x0": [1.0, 1.0], "sigma0": 1.0, "budget": 30, "rng": 0, "method": "cma-es", "confirm": 0,
}  # fmt: skip


def sphere(x: Any) -> float:
    return float(x @ x)


def events_in(path: Path) -> list[list[Any]]:
    """What follows the state in the file."""
    lines = path.read_text().splitlines()[2:]
    return [json.loads(line.rpartition(" ")[0]) for line in lines]


def values_in(path: Path) -> list[int]:
    """Trials whose values follow the state in the file."""
    return [event[0] for event in events_in(path) if event[0] != "asked"]


def test_a_value_that_came_while_the_run_waited_is_in_the_result(tmp_path: Path) -> None:
    path = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt) as caught:
        nw.minimize(sphere, **GIVEN, executor=Slow(interrupt_after=3), checkpoint=path)
    assert caught.value.result.nfev == 4  # type: ignore[attr-defined]
    assert nw.Optimizer.load(path).spent == 4


def test_a_value_that_came_during_an_update_is_kept_but_not_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half an update may be made: what is told on top of it would make nonsense of the result."""
    path, told = tmp_path / "run", []
    tell = Search.tell

    def interrupted(self: Search, values: list[Value]) -> None:
        assert len(told) <= 3, "told after half an update"
        told.append([value.id for value in values])
        if len(told) == 4:
            raise KeyboardInterrupt
        tell(self, values)

    monkeypatch.setattr(Search, "tell", interrupted)
    with pytest.raises(KeyboardInterrupt) as caught:
        nw.minimize(sphere, **GIVEN, executor=Slow(), checkpoint=path)
    assert caught.value.result.nfev == 3  # type: ignore[attr-defined]
    assert told == [[0], [1], [2], [3]]
    monkeypatch.undo()
    assert nw.Optimizer.load(path).spent == 5  # the one it was about, and the one that came


def test_a_value_that_came_while_a_round_was_opened_is_kept_but_not_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, ask = tmp_path / "run", Search.ask

    def interrupted(self: Search, n: int | None) -> list[Trial]:
        if self.run.round:
            raise KeyboardInterrupt
        return ask(self, n)

    class Late(_Slow):
        """One value is still to come when all others are told."""

        def receive(self, block: bool) -> None:
            if not block and not self._queue:
                self._queue.append(Trial(6, GIVEN["x0"], "candidate"))
                self._fun = lambda x: 0.0
            super().receive(block)

    class LateSpec(Slow):
        def start(self, fun: Callable[..., Any], args: Any, limits: Limits) -> Evaluator:
            return Late(fun, None)

    monkeypatch.setattr(Search, "ask", interrupted)
    with pytest.raises(KeyboardInterrupt) as caught:
        nw.minimize(sphere, **GIVEN, executor=LateSpec(), checkpoint=path)
    assert caught.value.result.nfev == 6  # type: ignore[attr-defined]
    assert values_in(path) == [*range(6), 6]


@pytest.mark.parametrize("maximize", [False, True])
def test_rescued_values_are_kept_in_the_users_sign(maximize: bool, tmp_path: Path) -> None:
    path = tmp_path / "run"
    options = GIVEN | {"executor": Slow(interrupt_after=2), "checkpoint": path}
    with pytest.raises(KeyboardInterrupt):
        nw.minimize(lambda x: (7.0, 0.5), **options, maximize=maximize)
    assert events_in(path) == [["asked", None, 6], [0, 7.0, 0.5], [1, 7.0, 0.5], [2, 7.0, 0.5]]


def test_rescued_values_keep_their_constraints(tmp_path: Path) -> None:
    path = tmp_path / "run"
    options = GIVEN | {"executor": Slow(interrupt_after=2), "checkpoint": path}
    with pytest.raises(KeyboardInterrupt):
        nw.minimize(sphere, **options, constraints=lambda x: 0.25)
    assert [event[3] for event in events_in(path)[1:]] == [[0.25]] * 3
