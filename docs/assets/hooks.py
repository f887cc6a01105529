"""What makes the site work without a network and from the disk: equations become MathML while it is
built, and the index of the search is a script as well, which pages may load without a server."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert

_EQUATION = re.compile(
    r'<(?P<tag>span|div) class="arithmatex">(?:\\\(|\\\[)(?P<tex>.*?)(?:\\\)|\\\])</(?P=tag)>',
    re.DOTALL,
)
_CODE, _OPTION = re.compile(r"<code>[^<]*</code>"), re.compile(r"--\w[\w-]*")


def on_page_content(content: str, **_: Any) -> str:
    """The page with every equation rendered, and with options that no line break splits."""
    return _CODE.sub(_unbroken, _EQUATION.sub(_rendered, content))


def on_post_build(config: Any, **_: Any) -> None:
    """Write the index of the search in the form that the theme loads from the disk."""
    folder = Path(config["site_dir"]) / "search"
    index = (folder / "search_index.json").read_text(encoding="utf-8")
    (folder / "search_index.js").write_text(f"var __index = {index}", encoding="utf-8")


def _unbroken(found: re.Match[str]) -> str:
    return _OPTION.sub(r'<span class="option">\g<0></span>', found[0])


def _rendered(found: re.Match[str]) -> str:
    tex = html.unescape(found["tex"]).strip()
    display = "block" if found["tag"] == "div" else "inline"
    return f'<{found["tag"]} class="math">{convert(tex, display=display)}</{found["tag"]}>'
