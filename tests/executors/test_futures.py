"""Futures of somebody else's executor: how often it is asked for its size."""

from __future__ import annotations

from typing import Any

import pytest

from noisewise.executors import futures
from noisewise.executors.base import Limits
from noisewise.executors.futures import Futures, Source


class Cluster(Source):
    """Grows by one worker whenever it is asked."""

    def __init__(self, elastic: bool) -> None:
        self.workers, self.elastic, self.asked = 2, elastic, 0

    def submit(self, fun: Any, x: Any, args: Any, **more: Any) -> Any:
        raise NotImplementedError

    def result(self, future: Any) -> Any:
        raise NotImplementedError

    def slots(self) -> int:
        self.asked += 1
        return self.workers + self.asked


@pytest.mark.parametrize(("elastic", "slots"), [(True, [2, 2, 3, 3, 4]), (False, [2] * 5)])
def test_a_cluster_is_asked_for_its_size_now_and_then(
    elastic: bool, slots: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    every = futures._ASKED_EVERY
    now = [100.0]
    monkeypatch.setattr("noisewise.executors.futures.time.monotonic", lambda: now[0])
    evaluator = Futures(float, (), Cluster(elastic), Limits())
    seen = []
    for passed in (0.0, 0.9, 0.2, 0.9, 0.2):
        now[0] += passed * every
        seen.append(evaluator.slots)
    assert seen == slots
