"""A result is a dictionary whose entries are computed when they are asked for, and that says what
was true when it was made."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import noisewise as nw
import support
from noisewise.answer import outlook
from noisewise.answer.outlook import Outlook
from noisewise.run.search import Search

_GIVEN: dict[str, Any] = {"x0": [3.0] * 3, "sigma0": 1.0, "budget": 200, "rng": 0}


class Calls:
    """Counts calls of what costs most."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.recommend, self.outlook = 0, 0
        recommend, of = Search.recommend, outlook.of

        def counted_recommend(search: Search) -> Any:
            self.recommend += 1
            return recommend(search)

        def counted_outlook(*given: Any) -> Outlook:
            self.outlook += 1
            return of(*given)

        monkeypatch.setattr(Search, "recommend", counted_recommend)
        monkeypatch.setattr(outlook, "of", counted_outlook)

    @property
    def both(self) -> tuple[int, int]:
        return self.recommend, self.outlook


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Calls:
    return Calls(monkeypatch)


def running() -> nw.Optimizer:
    """An optimizer in the middle of a run, with some values of a generation."""
    opt = nw.Optimizer([3.0] * 3, sigma0=1.0, budget=200, rng=0, method="watchful")
    told = 0
    while told < 45:
        for trial in opt.ask(5):
            opt.tell(trial.id, support.bumpy(trial.x))
            told += 1
    return opt


def test_an_empty_callback_computes_nothing(calls: Calls) -> None:
    seen = 0

    def callback(intermediate_result: nw.Result) -> None:
        nonlocal seen
        seen += 1

    final = nw.minimize(support.bumpy, **_GIVEN, callback=callback)
    assert seen == final.nit > 10
    assert calls.both == (1, 1)  # of the final result


def test_only_what_is_asked_for_is_computed(calls: Calls) -> None:
    found: list[float] = []
    final = nw.minimize(
        support.bumpy, **_GIVEN, callback=lambda r: found.extend([r.fun, r["fun_se"], r.nfev])
    )
    assert calls.both == (final.nit + 1, 1)
    calls.recommend = 0
    counts = nw.minimize(support.bumpy, **_GIVEN, callback=lambda r: found.append(r.nfev))
    assert calls.recommend == 1
    assert counts.nit == final.nit


def test_a_result_nobody_holds_costs_nothing(calls: Calls) -> None:
    opt = running()
    held = weakref.ref(opt.result())
    gc.collect()
    assert held() is None
    trials = opt.ask()
    opt.tell([t.id for t in trials], [support.bumpy(t.x) for t in trials])
    assert calls.both == (0, 0)


@pytest.mark.parametrize("method", nw.list_methods())
def test_a_result_that_is_held_says_what_was_true_when_it_was_made(method: str) -> None:
    read: list[dict[str, str]] = []
    held: list[nw.Result] = []
    given = _GIVEN | {"method": method, "budget": 120}
    fun = support.bumpy
    if method == "select":
        given = {"space": {"option": [0, 1, 2]}, "budget": 120, "method": method, "rng": 0}
        fun = lambda p: support.bumpy(np.array([p["option"]]))  # noqa: E731
    nw.minimize(fun, **given, callback=lambda r: read.append(_shown(r)))
    nw.minimize(fun, **given, callback=held.append)
    assert [_shown(r) for r in held] == read
    assert len(read) > 1


def _shown(r: nw.Result) -> dict[str, str]:
    return {name: repr(value) for name, value in r.items()} | {"": repr(r)}


_CHANGES: dict[str, Callable[[nw.Optimizer], object]] = {
    "ask": lambda opt: opt.ask(),
    "tell": lambda opt: opt.tell(opt.ask()[0].id, -100.0),
    "fail": lambda opt: opt.tell(opt.ask()[0].id, float("nan")),
    "tell elsewhere": lambda opt: opt.tell(opt.ask()[0].id, -100.0, x=[1.0, 1.0, 1.0]),
    "stop": lambda opt: opt.stop(),
    "add": lambda opt: opt.add([[0.0, 0.0, 0.0]], [1.0]),
    "extend": lambda opt: opt.extend(1000),
}


@pytest.mark.parametrize("how", list(_CHANGES))
def test_nothing_that_changes_a_run_changes_its_result(how: str) -> None:
    opt, same = running(), running()
    before, held = _shown(same.result()), opt.result()
    _CHANGES[how](opt)
    assert _shown(held) == before


def test_ask_and_tell_between_two_results() -> None:
    """Values of a generation under way are in the luckiest draw."""
    opt = running()
    first = opt.result()
    opt.tell(opt.ask()[0].id, -100.0)
    second = opt.result()
    assert first.fun_best_observed > second.fun_best_observed == -100.0
    assert second.nfev == first.nfev + 1


_READS: dict[str, Callable[[nw.Result], Any]] = {
    "dict": dict,
    "merged": lambda r: {**r},
    "arguments": lambda r: (lambda **given: given)(**r),
    "copy": lambda r: r.copy(),
    "copied": lambda r: dict(copy.copy(r)),
    "deep copy": lambda r: dict(copy.deepcopy(r)),
    "pickle": lambda r: dict(pickle.loads(pickle.dumps(r))),
    "items": lambda r: dict(r.items()),
    "values": lambda r: dict(zip(r, r.values(), strict=True)),
    "keys": lambda r: {name: r[name] for name in r.keys()},  # noqa: SIM118
    "iteration": lambda r: {name: r[name] for name in r},
    "attributes": lambda r: {name: getattr(r, name) for name in r},
    "get": lambda r: {name: r.get(name) for name in r},
    "setdefault": lambda r: {name: r.setdefault(name) for name in r},
    "pop": lambda r: {name: r.pop(name) for name in list(r)},
    "popitem": lambda r: dict(reversed([r.popitem() for _ in range(len(r))])),
    "or": lambda r: r | {},
    "ror": lambda r: {} | r,
    "update": lambda r: _updated(r),
    "result": lambda r: dict(nw.Result(r)),
}


def _updated(r: nw.Result) -> dict[str, Any]:
    found: dict[str, Any] = {}
    found.update(r)
    return found


@pytest.mark.parametrize("how", list(_READS))
def test_every_way_to_read_a_dictionary(how: str) -> None:
    opt = running()
    whole = [(name, repr(value)) for name, value in opt.result().items()]
    found = _READS[how](opt.result())
    assert type(found) is dict
    assert [(name, repr(value)) for name, value in found.items()] == whole


def test_copies_are_results() -> None:
    opt = running()
    ways: list[Callable[[nw.Result], nw.Result]] = [
        copy.copy,
        copy.deepcopy,
        lambda r: pickle.loads(pickle.dumps(r)),
    ]
    for again in ways:
        found = again(opt.result())
        assert type(found) is nw.Result
        assert repr(found) == repr(opt.result())


def test_entries_are_known_before_they_are_computed(calls: Calls) -> None:
    r = running().result()
    assert "outlook" in r
    assert "nothing" not in r
    assert "params" not in r
    assert len(r) == len(list(r)) == len(r.keys())
    assert "fun" in dir(r)
    assert list(r)[:2] == ["x", "fun"]
    assert calls.both == (0, 0)
    with pytest.raises(KeyError, match="nothing"):
        r["nothing"]
    with pytest.raises(AttributeError, match="a result has no entry 'nothing'"):
        r.nothing  # noqa: B018
    assert r.get("nothing") is None
    assert r.get("nothing", 5) == r.pop("nothing", 5) == r.setdefault("nothing", 5) == 5


def test_entries_can_be_set_and_deleted() -> None:
    opt = running()
    r = opt.result()
    r.fun, r["mine"] = 7.0, 8.0
    del r.message
    del r["outlook"]
    with pytest.raises(AttributeError, match="no entry 'message'"):
        del r.message
    opt.stop()
    assert (r.fun, r.mine, "message" in r, "outlook" in r) == (7.0, 8.0, False, False)
    assert "outlook" not in dict(r)
    assert r.status != opt.result().status


def test_results_are_compared_by_their_entries() -> None:
    opt = running()
    one, other = opt.result(), opt.result()
    for r in (one, other):  # arrays do not compare as a whole
        for name in [name for name, v in r.items() if isinstance(v, (dict, np.ndarray))]:
            del r[name]
        r.fun = r.fun_se = r.misranking = 0.0
        r.interval, r.mean_of_all, r["outlook"] = (0.0, 0.0), 0.0, None
    assert one == other
    assert one == dict(other)
    assert dict(one) == other
    other.nfev += 1
    assert one != other
    assert opt.result() != {}


def test_two_results_of_one_moment_share_no_arrays() -> None:
    opt = running()
    one, other = opt.result(), opt.result()
    kept = other.x.copy(), list(other.warnings)
    one.x[:] = 99.0
    one.x_best_observed[:] = 99.0
    one.warnings.append("mine")
    one.diagnostics["mine"] = one.x
    one.history.clear()
    assert other.x.tolist() == kept[0].tolist()
    assert other.warnings == kept[1]
    assert "mine" not in other.diagnostics
    assert not (other.x_best_observed == 99.0).any()
    assert len(other.history) > 0
    assert opt.result().x.tolist() == kept[0].tolist()


def test_a_run_waits_for_a_thread_that_reads_a_result(monkeypatch: pytest.MonkeyPatch) -> None:
    opt, inside, go = running(), threading.Event(), threading.Event()
    r, found, of = opt.result(), [], outlook.of

    def slow(*given: Any) -> Outlook:
        if threading.current_thread() is not threading.main_thread():
            inside.set()
            assert go.wait(20.0)
            found.append(opt.spent)
        return of(*given)

    monkeypatch.setattr(outlook, "of", slow)
    reader = threading.Thread(target=lambda: r.outlook)
    reader.start()
    assert inside.wait(20.0)
    threading.Timer(0.2, go.set).start()
    spent = opt.spent
    opt.tell(opt.ask()[0].id, -100.0)
    reader.join(20.0)
    assert found == [spent]
    assert opt.spent == spent + 1


def test_an_interrupt_while_a_result_is_completed_loses_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    opt, same, of = running(), running(), outlook.of
    held, before = opt.result(), _shown(same.result())

    def interrupted(*given: Any) -> Outlook:
        monkeypatch.setattr(outlook, "of", of)
        raise KeyboardInterrupt

    monkeypatch.setattr(outlook, "of", interrupted)
    with pytest.raises(KeyboardInterrupt):
        opt.stop()
    opt.stop()
    assert _shown(held) == before


def test_the_final_result_does_not_keep_the_run() -> None:
    opt = nw.Optimizer([3.0] * 3, sigma0=1.0, budget=60, rng=0)
    while not opt.done:
        for trial in opt.ask():
            opt.tell(trial.id, support.bumpy(trial.x))
    r, run = opt.result(), weakref.ref(opt)
    del opt
    gc.collect()
    assert run() is None
    assert r.nfev == 60


def test_an_interrupted_run_has_its_result_at_once(calls: Calls) -> None:
    opt = running()
    r = opt.interrupt()
    assert calls.both == (1, 1)
    assert r.message.startswith("interrupted")
    assert opt.result().message.startswith("still running")
