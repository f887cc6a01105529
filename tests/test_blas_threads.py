"""Linear algebra of one thread, without threadpoolctl."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from noisewise import _threads as threads

if not threads.bundled():
    pytest.skip("numpy and scipy bring no OpenBLAS of their own here", allow_module_level=True)


def numbers() -> list[int]:
    return [read() for read, _ in threads.bundled()]


@pytest.fixture(autouse=True)
def two_threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As on a machine with two cores, whatever the environment says."""
    monkeypatch.setattr(threads, "_controller", lambda: None)
    before = numbers()
    for _, write in threads.bundled():
        write(2)
    yield
    for (_, write), number in zip(threads.bundled(), before, strict=True):
        write(number)


def test_one_thread_within_and_as_many_as_before_after_an_error() -> None:
    with threads.single():
        assert set(numbers()) == {1}
    with pytest.raises(ZeroDivisionError), threads.single():
        raise ZeroDivisionError
    assert set(numbers()) == {2}


def test_contexts_that_overlap_in_threads() -> None:
    first, second = threads.single(), threads.single()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert set(numbers()) == {1}
    second.__exit__(None, None, None)
    assert set(numbers()) == {2}
