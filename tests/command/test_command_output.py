"""Output in memory: its end, and nothing that was cut."""

from __future__ import annotations

import os
import select
import time

import pytest

from noisewise.command.output import Output


def test_what_was_written_before_the_stop_is_read() -> None:
    """However late the thread gets its turn: an earlier line would be another value."""
    for _ in range(20):
        reading, writing = os.pipe()  # stays open, as where a daemon holds it
        text = "".join(f"{j}\n" for j in range(8000))
        os.write(writing, text.encode())
        output = Output(os.fdopen(reading, "rb", buffering=0), 1 << 20)
        output.stop()
        os.close(writing)
        assert output.text() == text
        assert not output.unread
        assert not output.ended


def test_a_process_that_goes_on_writing_does_not_keep_us() -> None:
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    output = Output(os.fdopen(reading, "rb", buffering=0), 1000)
    end, written = time.monotonic() + 1.0, 0
    while time.monotonic() < end:
        try:
            written += os.write(writing, b"12345\n" * 1000)
        except BlockingIOError:
            continue
    output.stop()
    os.close(writing)
    assert written > 1000
    assert output.cut
    assert set(output.text().split()) == {"12345"}
    assert len(output.text()) <= 1000


def test_half_a_line_at_either_end_is_left_out() -> None:
    reading, writing = os.pipe()
    output = Output(os.fdopen(reading, "rb", buffering=0), 10)
    os.write(writing, b"12345\n67\n8\n9.5")
    output.stop()
    os.close(writing)
    assert output.text() == "67\n8\n"


def test_where_reading_itself_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on Windows: what comes is read until the stream ends or we stop."""
    monkeypatch.delattr(select, "poll")
    reading, writing = os.pipe()
    output = Output(os.fdopen(reading, "rb", buffering=0), 1000)
    os.write(writing, b"1\n2\n")
    os.close(writing)
    output.wait(60.0)
    assert (output.text(), output.ended, output.unread) == ("1\n2\n", True, False)
