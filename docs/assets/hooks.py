"""Equations become MathML while the site is built, so that readers need no script and no network."""

from __future__ import annotations

import html
import re
from typing import Any

from latex2mathml.converter import convert

_EQUATION = re.compile(
    r'<(?P<tag>span|div) class="arithmatex">(?:\\\(|\\\[)(?P<tex>.*?)(?:\\\)|\\\])</(?P=tag)>',
    re.DOTALL,
)


def on_page_content(content: str, **_: Any) -> str:
    """The page with every equation rendered."""
    return _EQUATION.sub(_rendered, content)


def _rendered(found: re.Match[str]) -> str:
    tex = html.unescape(found["tex"]).strip()
    display = "block" if found["tag"] == "div" else "inline"
    return f'<{found["tag"]} class="math">{convert(tex, display=display)}</{found["tag"]}>'
