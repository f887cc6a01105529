"""The page with films of the policy before and after the search."""

from __future__ import annotations

import base64
import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from policy_toys import Point

import noisewise as nw
from noisewise.policy import film


def frames(n: int, width: int = 20) -> list[Any]:
    """A bright column that moves to the right over a dark ground."""
    made = np.zeros((n, 12, width, 3), dtype=np.uint8)
    for i in range(n):
        made[i, :, i % width, 1] = 200
    return list(made)


def test_every_frame_of_a_short_film_is_there() -> None:
    given = frames(7)
    picture = Image.open(io.BytesIO(film.animation(given)))
    assert (picture.size, picture.n_frames) == ((20, 12), 7)
    for i, frame in enumerate(given):
        picture.seek(i)
        assert np.array_equal(np.asarray(picture.convert("RGB")), frame)


def test_a_long_and_large_film_is_thinned_out() -> None:
    picture = Image.open(io.BytesIO(film.animation(frames(500, width=700))))
    assert picture.n_frames == 120
    assert picture.size[0] <= 320
    with pytest.raises(ValueError, match="rendered no frames"):
        film.animation([])


class Seen(Point):
    """The toy with a picture: brighter where it is farther from zero."""

    def __init__(self, render_mode: str | None = None) -> None:
        super().__init__()

    def render(self) -> Any:
        return np.full((4, 6, 3), min(255, int(100 * abs(self.at))), dtype=np.uint8)


def test_the_page_has_both_films_and_the_result(tmp_path: Path) -> None:
    policy = nw.policy.search(Seen, budget=60, rng=0)
    policy.report(tmp_path / "page.html", seed=3)
    text = (tmp_path / "page.html").read_text()
    films = [base64.b64decode(one) for one in re.findall(r"base64,([^\"]+)", text)]
    assert [Image.open(io.BytesIO(one)).size for one in films] == [(6, 4)] * 2
    assert text.index("Before") < text.index("After") < text.index("60 episodes")
    returns = [float(one) for one in re.findall(r"return (-?[\d.e-]+) in an episode", text)]
    assert returns[1] > returns[0]
    assert "http" not in text


def test_a_policy_from_a_file_has_no_film_of_before(tmp_path: Path) -> None:
    policy = nw.policy.search(Seen, budget=40, rng=0)
    policy.save(tmp_path / "p.json")
    nw.policy.load(tmp_path / "p.json", env=Seen).report(tmp_path / "page.html")
    assert "Before" not in (tmp_path / "page.html").read_text()
