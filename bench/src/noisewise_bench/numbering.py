"""Numbers that LaTeX gives to the parts of a paper: ``python -m noisewise_bench.numbering FILE``.

Prints one line per numbered part, in the order of the text: the section that it stands in, its kind
and its number as the PDF shows them, and its label (a section: its title). `docs/paper.md` cites
these numbers. Only what the paper uses is known: sections and appendices, ``equation`` and
``align``, figures and tables with one caption, and statements that are numbered by kind.
"""

from __future__ import annotations

import argparse
import csv
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

_TOKEN = re.compile(
    r"\\(?P<appendix>appendix)\b"
    r"|\\(?P<level>section|subsection)\{(?P<title>(?:[^{}]|\{[^{}]*\})*)\}"
    r"|\\begin\{(?P<display>equation|align)\}(?P<lines>.*?)\\end\{(?P=display)\}"
    r"|\\begin\{(?P<float>figure|table)\*?\}(?P<body>.*?)\\end\{(?P=float)\*?\}"
    r"|\\begin\{(?P<statement>theorem|lemma|proposition|assumption)\}(?:\[[^]]*\])?\s*"
    r"(?:\\label\{(?P<label>[^}]*)\})?",
    re.DOTALL,
)
_LABEL = re.compile(r"\\label\{([^}]*)\}")


class Part(NamedTuple):
    """A numbered part, such as ``Part("4.1", "Eq.", "18", "eq:pem_def")``."""

    section: str
    kind: str
    number: str
    name: str


def parts(source: str) -> Iterator[Part]:
    """The numbered parts of a LaTeX source, in the order of the text.

    >>> list(parts(r"\\section{Method} \\begin{equation} y = x \\label{eq:y} \\end{equation}"))[1]
    Part(section='1', kind='Eq.', number='1', name='eq:y')
    """
    counts: Counter[str] = Counter()
    section, lettered = "", False
    for found in _TOKEN.finditer(re.sub(r"(?<!\\)%.*", "", source)):
        if found["appendix"]:
            lettered, counts["section"] = True, 0
            continue
        if found["level"]:
            section = _section(counts, str(found["level"]), lettered)
            yield Part(section, "Section", section, str(found["title"]))
            continue
        for kind, name in _numbered(found):
            counts[kind] += 1
            yield Part(section, kind, str(counts[kind]), name)


def _section(counts: Counter[str], level: str, lettered: bool) -> str:
    """The number of a section or subsection that begins."""
    counts[level] += 1
    if level == "section":
        counts["subsection"] = 0
    top = chr(64 + counts["section"]) if lettered else str(counts["section"])
    return top if level == "section" else f"{top}.{counts['subsection']}"


def _numbered(found: re.Match[str]) -> Iterator[tuple[str, str]]:
    """Kind and label of what an environment numbers: of ``align`` every line but silent ones."""
    if found["display"]:
        text = str(found["lines"])
        for line in re.split(r"\\\\", text) if found["display"] == "align" else [text]:
            if not re.search(r"\\(notag|nonumber)\b", line):
                yield "Eq.", _label(line)
    elif found["float"]:
        if re.search(r"\\caption\b", str(found["body"])):
            yield str(found["float"]).capitalize(), _label(str(found["body"]))
    else:
        yield str(found["statement"]).capitalize(), found["label"] or ""


def _label(text: str) -> str:
    found = _LABEL.search(text)
    return found[1] if found else ""


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m noisewise_bench.numbering", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("source", type=Path, metavar="FILE", help="the paper's LaTeX source")
    source = parser.parse_args(argv).source
    try:
        text = source.read_text(encoding="utf-8")
    except OSError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    table = csv.writer(sys.stdout, lineterminator="\n")
    table.writerow(Part._fields)
    table.writerows(parts(text))
    return 0


if __name__ == "__main__":
    sys.exit(main())
