"""A page with films of two policies in the same episode, as one file that needs no network.

Films are animated PNGs, which browsers show as pictures and numpy and zlib can write.
"""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Iterator, Sequence
from html import escape
from typing import Any

import numpy as np

#: Pictures of a film and their width in pixels, at most; seconds that a film lasts.
_PICTURES, _WIDTH, _SECONDS = 120, 320, 6.0


def page(title: str, films: dict[str, tuple[Sequence[Any], str]], card: str) -> str:
    """A film with a line about it under each heading, then ``card``, a fragment of HTML."""
    shown = "".join(
        f"<figure><h2>{escape(name)}</h2>"
        f'<img alt="{escape(name)}" src="data:image/png;base64,{_encoded(frames)}">'
        f"<figcaption>{escape(said)}</figcaption></figure>"
        for name, (frames, said) in films.items()
    )
    return (
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        "<style>body{font:16px sans-serif;margin:2em}h2{font-size:1.1em}"
        "figure{display:inline-block;margin:0 2em 1em 0}</style></head>"
        f"<body><h1>{escape(title)}</h1>{shown}{card}</body></html>\n"
    )


def _encoded(frames: Sequence[Any]) -> str:
    return base64.b64encode(animation(frames)).decode("ascii")


def animation(frames: Sequence[Any]) -> bytes:
    """Frames (height, width, 3) as an animated PNG; some of them, and smaller, where there are
    many."""
    if not len(frames):
        raise ValueError("the environment rendered no frames")
    every = np.linspace(0, len(frames) - 1, min(len(frames), _PICTURES)).round().astype(int)
    step = max(1, -(-np.shape(frames[0])[1] // _WIDTH))
    pictures = [np.asarray(frames[i], dtype=np.uint8)[::step, ::step, :3] for i in every]
    height, width = pictures[0].shape[:2]
    delay = max(1, round(1000 * _SECONDS / len(pictures)))
    parts = [
        b"\x89PNG\r\n\x1a\n",
        _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)),
        _chunk(b"acTL", struct.pack(">II", len(pictures), 0)),
    ]
    return b"".join([*parts, *_pictures(pictures, delay), _chunk(b"IEND", b"")])


def _pictures(pictures: list[Any], delay: int) -> Iterator[bytes]:
    """Control and data of each picture; all but the first have numbered data."""
    number = 0
    for i, picture in enumerate(pictures):
        height, width = picture.shape[:2]
        control = struct.pack(">IIIIIHHBB", number, width, height, 0, 0, delay, 1000, 0, 0)
        yield _chunk(b"fcTL", control)
        number += 1
        rows = np.zeros((height, 1 + 3 * width), dtype=np.uint8)  # a filter byte, then the pixels
        rows[:, 1:] = picture.reshape(height, -1)
        content = zlib.compress(rows.tobytes(), 9)
        if i == 0:
            yield _chunk(b"IDAT", content)
        else:
            yield _chunk(b"fdAT", struct.pack(">I", number) + content)
            number += 1


def _chunk(kind: bytes, content: bytes) -> bytes:
    check = zlib.crc32(kind + content)
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", check)
