"""A checkpoint that is not whole is refused in one sentence; one that loads can go on."""

from __future__ import annotations

import base64
import copy
import json
import time
import tracemalloc
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noisewise as nw
import support
from noisewise import checkpoint
from noisewise.checkpoint import Journal
from noisewise.methods import CMAES, PEM, Method


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
    for trial in opt.ask()[:3]:
        journal.append([trial.id], [1.0 / 3.0])
    journal.append([99], [2.0])
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
    trials = opt.ask()[:3]
    for trial in trials:
        journal.append([trial.id], [1.0 / 3.0])
    journal.close()
    text = path.read_bytes()
    ends = [i + 1 for i, byte in enumerate(text) if byte == ord("\n")]
    for length in range(ends[1], len(text) + 1):
        rewritten(path, text[:length])
        loaded = load(path)
        assert loaded is not None
        known = sum(end <= length for end in ends[2:])
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


@pytest.mark.parametrize("version", [3, 999, "2", None, 1.5, [2], "x" * 1000])
def test_another_version(tmp_path: Path, version: Any) -> None:
    path = written(tmp_path / "run", {}, noisewise=version)
    with pytest.raises(nw.CheckpointError, match=r"has format .*, this noisewise reads 2"):
        nw.Optimizer.load(path)


def test_a_file_of_version_0_1(tmp_path: Path) -> None:
    path = written(tmp_path / "run", {}, noisewise=1)
    with pytest.raises(nw.CheckpointError, match=r"was written by noisewise 0\.1.*start anew"):
        nw.Optimizer.load(path)


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


def check(path: Path, content: Any, where: tuple[Any, ...]) -> bool:
    """Refused at load, or able to run to its end within the budget."""
    opt = load(written(path, content))
    if opt is None:
        return False
    before = opt.spent
    while not opt.done and opt.spent < before + 40:
        for trial in opt.ask():
            opt.tell(trial.id, support.noisy(trial))
    assert opt.spent <= opt.budget, where
    opt.result()
    return True


@pytest.mark.untraced
@pytest.mark.parametrize("confirming", [False, True])
def test_wrong_fields_are_refused_or_harmless(tmp_path: Path, confirming: bool) -> None:
    """Every field of a run, replaced by values of other kinds, with a valid checksum."""
    path = tmp_path / "run"
    saved(path, tells=28 if confirming else 9, confirm=4)
    content = json.loads(path.read_bytes().split(b"\n")[1])
    refused = accepted = 0
    for n, where in enumerate(leaves(content)):
        for value in _REPLACEMENTS[n % 2 :: 2] if confirming else _REPLACEMENTS:
            if check(path, replaced(content, where, value), where):
                accepted += 1
            else:
                refused += 1
    assert refused > 5 * accepted


def test_wrong_fields_of_candidates_handed_out_early(tmp_path: Path) -> None:
    """Those of the generation under way and of the next one, some of them told."""
    path = tmp_path / "run"
    opt = support.start(CMAES(population=5), d=2, budget=60, lookahead=3, late=1)
    for trial in [*opt.ask()[:7], *opt.ask()[:4]]:
        opt.tell(trial.id, support.noisy(trial))
    assert opt._run.next is not None
    opt.save(path)
    content = json.loads(path.read_bytes().split(b"\n")[1])
    mine = [p for p in leaves(content) if {"next", "origins", "lookahead", "late"} & set(p)]
    assert len(mine) >= 10
    refused = sum(
        not check(path, replaced(content, where, value), where)
        for where in mine
        for value in _REPLACEMENTS
    )
    assert refused > 3 * len(mine)


@pytest.mark.parametrize(
    "wrong",
    [
        {"memory.population": 10**7, "setup.budget": 10**12, "ledger.budget": 10**12},
        {"memory.repeats": 10**9, "setup.budget": 10**12, "ledger.budget": 10**12},
        {"ledger.budget": 10**12, "ledger.reserve": 10**12 - 30},
        {"seen.wanted": 10**12},
        {"setup.lookahead": 10**12, "setup.budget": 10**12, "ledger.budget": 10**12},
        {"misranking.count": 10**30},
        {"history.n": 10**12},
        {"next_id": 10**30},
    ],
    ids=range(8),
)
def test_hostile_numbers_cost_little(tmp_path: Path, wrong: dict[str, int]) -> None:
    """Whether such a file is refused or not: it fills neither the memory nor the day."""
    path = tmp_path / "run"
    saved(path, tells=6, confirm=4)
    content = json.loads(path.read_bytes().split(b"\n")[1])
    run = content["run"]["~noisewise.run.Run"]
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


def test_wrong_fields_of_every_method(method: Method, tmp_path: Path) -> None:
    """As above, a few replacements for each field."""
    path = tmp_path / "run"
    saved(path, method, tells=20)
    content = json.loads(path.read_bytes().split(b"\n")[1])
    if content["method"] is None:
        pytest.skip("holds a function, so the file alone is not enough")
    refused = 0
    slow = "noise_share" in method.columns  # a model is fitted in each of the runs
    for n, where in enumerate(list(leaves(content))[:: 4 if slow else 1]):
        value = _REPLACEMENTS[(7 * n) % len(_REPLACEMENTS)]
        refused += not check(path, replaced(content, where, value), where)
    assert refused > (5 if slow else 20)


def test_missing_and_additional_fields(tmp_path: Path) -> None:
    path = tmp_path / "run"
    saved(path)
    content = json.loads(path.read_bytes().split(b"\n")[1])
    fields = content["run"]["~noisewise.run.Run"]
    for name in list(fields):
        less = copy.deepcopy(content)
        del less["run"]["~noisewise.run.Run"][name]
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


def test_a_damaged_run_of_a_method_that_holds_a_function(tmp_path: Path) -> None:
    """Its function is not called to find out: that could cost the user something."""
    calls: list[int] = []

    def draws(X: Any, n: int, rng: np.random.Generator) -> Any:
        calls.append(n)
        return support.draws(X, n, rng)

    saved(tmp_path / "run", PEM(draws=draws))
    before = len(calls)
    nw.Optimizer.load(tmp_path / "run", PEM(draws=draws))
    assert len(calls) == before
    content = json.loads((tmp_path / "run").read_bytes().split(b"\n")[1])
    content["run"]["~noisewise.run.Run"]["memory"]["~noisewise.methods.pem.PEMMemory"]["state"][
        "~noisewise.core.strategy.State"
    ]["mean"] = array(np.zeros(3))
    with pytest.raises(nw.CheckpointError, match="its search does not fit together"):
        nw.Optimizer.load(written(tmp_path / "run", content), PEM(draws=draws))


def test_every_saved_class_has_annotations_that_can_be_checked() -> None:
    from noisewise import _data

    assert "noisewise.run.Run" in _data._CLASSES
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
    values = [(1.5, 0.25), (float("inf"), None), (0.1 + 0.2, None)]
    for trial, (value, se) in zip(opt.ask(), values, strict=False):
        journal.append([trial.id], [value], [se])
        opt.tell(trial.id, value, se)
    journal.close()
    assert support.data_of(nw.Optimizer.load(path)) == support.data_of(opt)
    assert repr(checkpoint.read(path).tells[1][:3]) == "(1, nan, None)"


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
