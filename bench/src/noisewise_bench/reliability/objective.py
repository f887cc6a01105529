"""Objectives whose noise, time and calls can be accounted for."""

from __future__ import annotations

import os
import time
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np


def point_rng(x: Any) -> np.random.Generator:
    """Random numbers that belong to the point, wherever and whenever it is evaluated."""
    return np.random.default_rng(zlib.crc32(np.asarray(x).tobytes()))


def bumpy(x: Any) -> float:
    """A sphere with noise that belongs to the point, so that runs can be compared to the bit."""
    return float(x @ x + 0.2 * point_rng(x).normal())


def draws(X: Any, n: int, rng: np.random.Generator) -> Any:
    """Fresh values of a noisy sphere, which exact PEM asks for."""
    return (X * X).sum(axis=1) + 0.2 * rng.normal(size=(n, len(X)))


def seconds(x: Any, mean: float, sd: float) -> float:
    """How long the evaluation of a point takes: log-normal with this mean and this standard
    deviation of the logarithm."""
    return mean * float(np.exp(sd * point_rng(x).standard_normal() - 0.5 * sd**2))


@dataclass(frozen=True)
class Sleeping:
    """`bumpy`, after a while; adds the time that it took to ``log``."""

    mean: float
    sd: float
    log: Path

    def __call__(self, x: Any) -> float:
        began = time.monotonic()
        time.sleep(seconds(x, self.mean, self.sd))
        note(self.log, f"{time.monotonic() - began!r}\n")
        return bumpy(x)


@dataclass(frozen=True)
class Logged:
    """`bumpy`, after ``pause`` seconds; writes down the point when a call begins."""

    log: Path
    pause: float = 0.0

    def __call__(self, x: Any) -> float:
        note(self.log, f"{np.asarray(x).tobytes().hex()}\n")
        time.sleep(self.pause)
        return bumpy(x)


def note(path: Path, line: str) -> None:
    """Append a line in one piece, whoever else does so at the same time."""
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        os.write(fd, line.encode())
    finally:
        os.close(fd)


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []
