"""A checkpoint that is not whole is refused in one sentence; one that loads can go on."""

from __future__ import annotations

import base64
import contextlib
import copy
import json
import math
import time
import tracemalloc
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noisewise as nw
import support
from noisewise import _data
from noisewise.loop import checkpoint
from noisewise.loop.checkpoint import Journal
from noisewise.methods import CMAES, PEM, Method
from noisewise.problem.values import Value
from noisewise.run.run import Ledger


@pytest.fixture(autouse=True)
def _no_flushing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.fsync", lambda fd: None)


def written(path: Path, body: Any, **head: Any) -> Path:
    """A file with this body and the checksum that belongs to it."""
    text = body if isinstance(body, str) else json.dumps(body)
    whole = {
        "noisewise": checkpoint.FORMAT,
        "bytes": len(text),
        "crc": zlib.crc32(text.encode()),
    } | head
    return rewritten(path, f"{json.dumps(whole)}\n{text}\n".encode())


def rewritten(path: Path, content: bytes) -> Path:
    path.unlink(missing_ok=True)  # some file systems flush what is written over, which is slow
    path.write_bytes(content)
    return path


def saved(path: Path, method: Method | None = None, tells: int = 9, **options: Any) -> nw.Optimizer:
    """A small run, saved in the middle of a generation."""
    opt = support.start(method or CMAES(), d=2, budget=30, **options)
    for _ in range(tells):
        trial = opt.ask(1)[0]
        opt.tell(trial.id, support.noisy(trial))
    opt.save(path)
    return opt


def journalled(path: Path) -> bytes:
    """A small file with a few values behind the state."""
    opt = saved(path, tells=6)
    journal = Journal(path)
    journal.open(opt.method, opt._run)
    trials = opt.ask()
    journal.asked(len(trials), opt._run.handed)
    for trial in trials[:3]:
        journal.append([Value(trial.id, 1.0 / 3.0)])
    journal.append([Value(99, 2.0)])
    journal.close()
    return path.read_bytes()


def load(path: Path) -> nw.Optimizer | None:
    """None if the file is refused, as it should be, in one sentence."""
    try:
        return nw.Optimizer.load(path)
    except nw.CheckpointError as error:
        said = str(error)
    assert str(path) in said
    assert "\n" not in said
    assert len(said) < 600
    return None


@pytest.mark.untraced
def test_truncated_anywhere(tmp_path: Path) -> None:
    path = tmp_path / "run"
    whole = saved(path)
    text = path.read_bytes()
    for length in range(len(text)):
        rewritten(path, text[:length])
        loaded = load(path)
        if length == len(text) - 1:  # only the newline at the very end is missing
            assert loaded is not None
            assert support.data_of(loaded) == support.data_of(whole)
        else:
            assert loaded is None, f"{length} of {len(text)} bytes"


def test_a_value_that_was_being_written_is_dropped(tmp_path: Path) -> None:
    """Its evaluation was in flight when the machine stopped; it is asked for again."""
    path = tmp_path / "run"
    opt = saved(path, tells=6)
    journal = Journal(path)
    journal.open(opt.method, opt._run)
    trials = opt.ask()
    journal.asked(len(trials), opt._run.handed)
    for trial in trials[:3]:
        journal.append([Value(trial.id, 1.0 / 3.0)])
    journal.close()
    text = path.read_bytes()
    ends = [i + 1 for i, byte in enumerate(text) if byte == ord("\n")]
    for length in range(ends[1], len(text) + 1):
        rewritten(path, text[:length])
        loaded = load(path)
        assert loaded is not None
        known = sum(end <= length for end in ends[3:])  # after what was asked for
        assert loaded.spent == 6 + known
        assert loaded.ask(1)[0].id == 6 + known


@pytest.mark.untraced
def test_one_flipped_bit_anywhere(tmp_path: Path) -> None:
    path = tmp_path / "run"
    text = journalled(path)
    path.write_bytes(text.rsplit(b"\n", 2)[0] + b"\n")  # without the trial that is not there
    text = path.read_bytes()
    expected = nw.Optimizer.load(path)
    for i in range(len(text)):
        flipped = bytearray(text)
        flipped[i] ^= 1 << (i % 8)
        rewritten(path, bytes(flipped))
        loaded = load(path)
        if loaded is not None and i < len(text) - 1:
            # Harmless: the case of a letter in a checksum.
            assert support.data_of(loaded) == support.data_of(expected), f"byte {i}"


def test_a_value_for_a_trial_that_is_not_there(tmp_path: Path) -> None:
    journalled(tmp_path / "run")
    with pytest.raises(nw.CheckpointError, match="damaged: id must come from ask"):
        nw.Optimizer.load(tmp_path / "run")


@pytest.mark.parametrize("version", [4, 999, "2", None, 1.5, [2], "x" * 1000])
def test_another_version(tmp_path: Path, version: Any) -> None:
    path = written(tmp_path / "run", {}, noisewise=version)
    with pytest.raises(nw.CheckpointError, match=r"has format .*, this noisewise reads 3"):
        nw.Optimizer.load(path)


@pytest.mark.parametrize(("version", "release"), [(1, "0.1"), (2, "0.2")])
def test_a_file_of_an_earlier_version(tmp_path: Path, version: int, release: str) -> None:
    path = written(tmp_path / "run", {}, noisewise=version)
    said = f"was written by noisewise {release}, which this version cannot resume: .*start anew"
    with pytest.raises(nw.CheckpointError, match=said):
        nw.Optimizer.load(path)


def test_no_file_says_where_a_class_of_the_library_lives() -> None:
    for method in nw.list_methods():
        opt = support.start(support.METHODS[method])
        opt.tell(opt.ask(1)[0].id, 1.0)
        kept = [checkpoint._encode_method(opt.method), _data.encode(opt._run)]
        assert "noisewise." not in json.dumps(kept)


def test_classes_of_plugins_are_known_by_their_full_names() -> None:
    @_data.data
    @dataclass(frozen=True)
    class Run:  # as the library's own
        n: int

    encoded = _data.encode(Run(3))
    [name] = encoded
    assert name.endswith("test_classes_of_plugins_are_known_by_their_full_names.<locals>.Run")
    assert _data.decode(encoded) == Run(3)


def test_a_class_of_another_version_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    encoded = _data.encode(Ledger(3))
    monkeypatch.setattr(_data, "_CLASSES", {})
    newer = dataclass(type("Ledger", (), {"_version": 2, "__module__": "noisewise.run.ledger"}))
    assert _data.encode(_data.data(newer)()) == {"~Ledger/2": {}}
    with pytest.raises(_data.DataError, match="unknown kind of data '~Ledger/1'"):
        _data.decode(encoded)


def test_two_classes_of_one_name_cannot_be_saved() -> None:
    rival = dataclass(type("Ledger", (), {"__module__": "noisewise.other"}))
    with pytest.raises(TypeError, match=r"Ledger is saved by noisewise\.run\.run under the same"):
        _data.data(rival)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\n",
        b"\x00\xff\xfe",
        b"hello",
        b"{}",
        b"[]\n[]\n",
        b'{"noisewise": 1}\n',
        b"[" * 10**5,
        b'{"a":' * 10**5,
        b"\x80\x04\x95 a pickle",
        b"1" * 5000,
    ],
    ids=range(11),
)
def test_no_checkpoint_at_all(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "run").write_bytes(text)
    with pytest.raises(nw.CheckpointError, match="is not a noisewise checkpoint"):
        nw.Optimizer.load(tmp_path / "run")


@pytest.mark.parametrize(
    "body",
    [
        "not json",
        "{",
        "[" * 10**5,
        '{"a":' * 10**5,
        '{"run": ' + '{"~tuple": [' * 2000 + "]}" * 2000 + ', "method": null}',
        "1" * 5000,
        {},
        [],
        None,
        5,
        {"run": None, "method": None, "extra": {"~dict": []}},
        {"run": {"~dict": []}, "method": None, "extra": {"~dict": []}},
        {"run": 5, "method": {"~CMAES": {}}},
        {"run": {"~Ledger": {}}, "method": None},
        {"method": None},
    ],
    ids=range(15),
)
def test_hostile_bodies(tmp_path: Path, body: Any) -> None:
    path = written(tmp_path / "run", body)
    with pytest.raises(nw.CheckpointError, match="is damaged"):
        nw.Optimizer.load(path)


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Paths to everything that is not a list or an object, and to arrays as a whole."""
    if isinstance(value, dict) and "~array" not in value:
        for key, inner in value.items():
            yield from leaves(inner, (*path, key))
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            yield from leaves(inner, (*path, i))
    else:
        yield path


def array(values: Any) -> dict[str, Any]:
    a = np.asarray(values)
    text = base64.b64encode(a.tobytes()).decode()
    return {"~array": [a.dtype.name, list(a.shape), "C", text]}


_REPLACEMENTS: list[Any] = [
    None,
    "word",
    True,
    -1,
    0,
    7,
    10**18,
    10**400,
    1.5,
    {"~float": "nan"},
    {"~float": "inf"},
    [],
    {"~tuple": []},
    {"~dict": []},
    {"~Ledger": {}},
    array(np.zeros(0)),
    array(np.zeros(3)),
    array(np.full(2, np.nan)),
    array(np.ones((2, 3))),
    array(np.zeros((5, 2), dtype=bool)),
    array(np.arange(2)),
]


def replaced(content: Any, path: tuple[Any, ...], value: Any) -> Any:
    """A copy with another value at ``path``; what lies beside the path is shared."""
    if not path:
        return value
    content = copy.copy(content)
    content[path[0]] = replaced(content[path[0]], path[1:], value)
    return content


def fields(value: Any, hint: Any = None) -> Iterator[Any]:
    """The annotation of everything that `leaves` finds, in the same order."""
    if isinstance(value, dict) and "~array" not in value:
        for key, inner in value.items():
            cls = _data._CLASSES.get(key[1:]) if key.startswith("~") else None
            if cls is not None:
                hints = _data._hints(cls)
                for name, field in inner.items():
                    yield from fields(field, hints[name])
            else:
                yield from fields(inner, None if key.startswith("~") else hint)
    elif isinstance(value, list):
        for inner in value:
            yield from fields(inner)
    else:
        yield hint


def refused(path: Path, content: Any, most: int = 1) -> tuple[int, int]:
    """How many of the wrong kinds in any field are refused, as all should be, and how many fields
    there are. Every ``most``-th field is tried."""
    where, hints = list(leaves(content)), list(fields(content))
    assert len(where) == len(hints)
    found = 0
    for place, hint in list(zip(where, hints, strict=True))[::most]:
        for value in _REPLACEMENTS:
            loaded = load(written(path, replaced(content, place, value)))
            with contextlib.suppress(_data.DataError):
                if hint is None or _data.fits(_data.decode(value), hint):
                    continue
            assert loaded is None, (place, value)
            found += 1
    return found, len(where[::most])


@pytest.mark.untraced
@pytest.mark.parametrize("confirming", [False, True])
def test_wrong_kinds_are_refused(tmp_path: Path, confirming: bool) -> None:
    """Every field of a run, replaced by values of other kinds, with a valid checksum."""
    path = tmp_path / "run"
    saved(path, tells=28 if confirming else 9, confirm=4)
    content = json.loads(path.read_bytes().split(b"\n")[1])
    found, n = refused(path, content)
    assert found > 5 * n


def test_wrong_kinds_of_candidates_that_gather(tmp_path: Path) -> None:
    """Some of them told, some not; with the distributions that they come from."""
    path = tmp_path / "run"
    opt = support.start(CMAES(population=5), d=2, budget=60, workers=4, seeds="common")
    for trial in [*opt.ask(), *opt.ask()[:3]]:
        opt.tell(trial.id, support.noisy(trial))
    opt.ask()
    opt.save(path)
    content = json.loads(path.read_bytes().split(b"\n")[1])
    gathered = content["run"]["~Run/1"]["pool"]
    assert gathered
    mine = [p for p in leaves(content) if {"pool", "origins", "gathered", "blocks"} & set(p)]
    assert len(mine) >= 20
    found, n = refused(path, content)
    assert found > 5 * n


@pytest.mark.parametrize(
    "wrong",
    [
        {"memory.population": 10**7, "setup.budget": 10**12, "ledger.budget": 10**12},
        {"memory.repeats": 10**9, "setup.budget": 10**12, "ledger.budget": 10**12},
        {"ledger.budget": 10**12, "ledger.reserve": 10**12 - 30},
        {"evidence.n": 10**30},
        {"workers": 10**12, "setup.budget": 10**12, "ledger.budget": 10**12},
        {"setup.batch": 10**12, "setup.budget": 10**12, "ledger.budget": 10**12},
        {"gathered": 10**30, "blocks": 10**30, "batch_left": 10**30},
        {"evidence.reevaluations": 10**30},
        {"history.n": 10**12},
        {"next_id": 10**30},
    ],
    ids=range(10),
)
def test_hostile_numbers_cost_little(tmp_path: Path, wrong: dict[str, int]) -> None:
    """Whether such a file is refused or not: it fills neither the memory nor the day."""
    path = tmp_path / "run"
    saved(path, tells=6, confirm=4)
    content = json.loads(path.read_bytes().split(b"\n")[1])
    run = content["run"]["~Run/1"]
    for name, value in wrong.items():
        *outer, last = name.split(".")
        place = run[outer[0]] if outer else {"": run}
        next(iter(place.values()))[last] = value
    began = time.process_time()
    tracemalloc.start()
    try:
        load(written(path, content))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1e8
    assert time.process_time() - began < 10.0


def test_wrong_kinds_in_the_memory_of_every_method(method: Method, tmp_path: Path) -> None:
    """As above, for some of the fields."""
    path = tmp_path / "run"
    saved(path, method, tells=20)
    content = json.loads(path.read_bytes().split(b"\n")[1])
    if content["method"] is None:
        pytest.skip("holds a function, so the file alone is not enough")
    found, n = refused(path, content, most=5)
    assert found > 5 * n


def test_missing_and_additional_fields(tmp_path: Path) -> None:
    path = tmp_path / "run"
    saved(path)
    content = json.loads(path.read_bytes().split(b"\n")[1])
    fields = content["run"]["~Run/1"]
    for name in list(fields):
        less = copy.deepcopy(content)
        del less["run"]["~Run/1"][name]
        assert load(written(path, less)) is None
    fields["more"] = 1
    assert load(written(path, content)) is None


def test_all_or_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a new state cannot be written, the old file stays and nothing is left beside it."""
    path = tmp_path / "run"
    opt = saved(path)
    before = path.read_bytes()
    [trial] = opt.ask(1)
    opt.tell(trial.id, 1.0)

    def full(fd: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(nw.CheckpointError, match="cannot be used: No space left on device"):
        opt.save(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["run"]


def test_the_same_state_is_the_same_file(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    saved(one)
    nw.Optimizer.load(one).save(two)
    assert one.read_bytes() == two.read_bytes()


def test_paths_that_cannot_be_used(tmp_path: Path) -> None:
    opt = saved(tmp_path / "run")
    for path in (tmp_path / "no" / "run", tmp_path / "run" / "below", tmp_path):
        with pytest.raises(nw.CheckpointError, match="cannot be used: "):
            opt.save(path)
        with pytest.raises(nw.CheckpointError, match="cannot be used: "):
            nw.Optimizer.load(path)
        with pytest.raises(nw.CheckpointError, match="cannot be used: "):
            nw.minimize(sum, [1.0], sigma0=1.0, budget=5, checkpoint=path)


def test_read_only_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise PermissionError(13, "Permission denied")

    opt = saved(tmp_path / "run")
    with monkeypatch.context() as patched:
        patched.setattr("os.open", refuse)
        with pytest.raises(nw.CheckpointError, match="cannot be used: Permission denied"):
            opt.save(tmp_path / "run")
    assert nw.Optimizer.load(tmp_path / "run").spent == 9


def test_a_method_that_holds_a_function_is_given_again(tmp_path: Path) -> None:
    method = support.METHODS["pem"]
    opt = saved(tmp_path / "run", method)
    with pytest.raises(nw.CheckpointError, match="holds a function: give it again as method"):
        nw.Optimizer.load(tmp_path / "run")
    assert support.data_of(nw.Optimizer.load(tmp_path / "run", method)) == support.data_of(opt)


def test_another_method_is_refused(tmp_path: Path) -> None:
    saved(tmp_path / "run", CMAES())
    with pytest.raises(
        nw.CheckpointError, match=r"holds a run with method CMAES.*full.*, not CMAES.*diagonal"
    ):
        nw.Optimizer.load(tmp_path / "run", CMAES(covariance="diagonal"))
    assert nw.Optimizer.load(tmp_path / "run", CMAES()).spent == 9


def test_the_function_of_a_method_is_not_called_to_load_a_run(tmp_path: Path) -> None:
    """That could cost the user something."""
    calls: list[int] = []

    def draws(X: Any, n: int, rng: np.random.Generator) -> Any:
        calls.append(n)
        return support.draws(X, n, rng)

    saved(tmp_path / "run", PEM(draws=draws))
    before = len(calls)
    nw.Optimizer.load(tmp_path / "run", PEM(draws=draws))
    assert len(calls) == before


def test_every_saved_class_has_annotations_that_can_be_checked() -> None:
    assert "Run/1" in _data._CLASSES
    for cls in _data._CLASSES.values():
        hints = _data._hints(cls)
        assert set(_data._fields(cls)) <= set(hints)
        for name in _data._fields(cls):
            _data.fits(object(), hints[name])  # knows what to do with the annotation


def test_standard_errors_and_failures_survive_in_the_journal(tmp_path: Path) -> None:
    path = tmp_path / "run"
    opt = support.start(CMAES(), d=2)
    journal = Journal(path)
    journal.open(opt.method, opt._run)
    values = [(1.5, 0.25), (math.inf, None), (0.1 + 0.2, None)]
    trials = opt.ask()
    journal.asked(len(trials), opt._run.handed)
    for trial, (value, se) in zip(trials, values, strict=False):
        journal.append([Value(trial.id, value, se)])
        opt.tell(trial.id, value, se)
    journal.close()
    opt._run.hand_out_again()
    assert support.data_of(nw.Optimizer.load(path)) == support.data_of(opt)
    asked, _, failed, _ = checkpoint.read(path).events
    assert asked == (len(trials), len(trials))
    assert repr(failed) == "Value(id=1, y=nan, se=None, constraints=None, why=None)"


def test_what_was_asked_for_is_checked_when_a_run_is_loaded(tmp_path: Path) -> None:
    """The file says how many trials were handed out; more or fewer are damage."""
    path = tmp_path / "run"
    opt = support.start(CMAES(), d=2, workers=3)
    for said, known in ((3, True), (2, False), (4, False)):
        journal = Journal(path)
        journal.open(opt.method, opt._run)
        journal.asked(3, said)
        journal.append([Value(1, 1.0)])
        journal.close()
        assert (load(path) is not None) == known


_HOSTILE_LINES: list[bytes] = [
    b"[6, [1.0], null]",
    b'[6, "x", null]',
    b'[6, "1.0", null]',
    b"[6, {}, null]",
    b"[6, true, null]",
    b"[6, 1" + b"0" * 400 + b", null]",
    b"[6, NaN, null]",
    b"[6, Infinity, null]",
    b"[6, -Infinity, null]",
    b'["6", 1.0, null]',
    b"[6.0, 1.0, null]",
    b"[true, 1.0, null]",
    b"[[6], 1.0, null]",
    b"[1e999, 1.0, null]",
    b"[6, 1.0, []]",
    b"[6, 1.0, -1.0]",
    b"[6, 1.0, NaN]",
    b"[6, 1.0, 1" + b"0" * 400 + b"]",
    b"[6, 1.0]",
    b'["asked"]',
    b'["asked", 3]',
    b'["asked", 0, 9]',
    b'["asked", -3, 9]',
    b'["asked", 3.0, 9]',
    b'["asked", true, 9]',
    b'["asked", 3, null]',
    b'["asked", 3, "9"]',
    b'["asked", 3, 9, 1]',
    b'["told", 3, 9]',
    b"[]",
    b"{}",
    b"null",
    b'"abc"',
    b"[" * 2000,
    b"[6, " + b"[" * 1500 + b"]" * 1500 + b", null]",
    b"[6, 1.0, null]" + b" " * 10**6,
    b"\xff\xfe",
]


@pytest.mark.parametrize("text", _HOSTILE_LINES, ids=range(len(_HOSTILE_LINES)))
def test_hostile_value_lines(tmp_path: Path, text: bytes) -> None:
    """With a checksum that fits."""
    path = tmp_path / "run"
    saved(path, tells=6)
    with open(path, "ab") as file:
        file.write(b"%s %x\n" % (text, zlib.crc32(text)))
    with pytest.raises(nw.CheckpointError, match=r"is damaged in line 3$"):
        nw.Optimizer.load(path)


def test_a_checksum_in_another_spelling(tmp_path: Path) -> None:
    path = tmp_path / "run"
    saved(path, tells=6)
    text = b"[6, 1.0, null]"
    whole = path.read_bytes()
    for crc in (b"0x%x", b"%x_", b" +%x", b"-%x", b"%x" + b"0" * 5000, b""):
        line = crc % zlib.crc32(text) if b"%" in crc else crc
        rewritten(path, whole + text + b" " + line + b"\n")
        assert load(path) is None, crc


@pytest.mark.parametrize("where", ["header", "body", "values"])
def test_a_sparse_file_is_not_read_whole(tmp_path: Path, where: str) -> None:
    """Its three gigabytes take no room on the disk and must not take any in memory."""
    path, size = tmp_path / "run", 3 << 30
    if where == "values":
        saved(path, tells=6)
    else:
        head = {"noisewise": checkpoint.FORMAT, "bytes": size - 100, "crc": 0}
        path.write_bytes(b"" if where == "header" else f"{json.dumps(head)}\n".encode())
    with open(path, "r+b") as file:
        file.truncate(size)
    tracemalloc.start()
    try:
        assert load(path) is None
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2e7
