"""Stamps: which methods and problems, by digest, made a committed page; marks on stale pages.

A stamp is an HTML comment with JSON at the end of a page:

    <!-- made by
    {"methods": {"auto": "1a2b3c4d"}, "problems": {"bbob-noisy": "5e6f7a8b"}}
    -->

``computed`` in a stamp names tables that are computed on the spot, without a campaign; ``sources``
names the pages that a hand-written page quotes, by their paths in the repository, and ``unquoted``
the methods of these pages that it quotes nothing of. Tables (CSV) and figures (SVG) are covered by
the stamp of their page. A page whose digests are not those of the code is stale, and may carry a
mark, a visible sentence that says so. `noisewise_bench.stale` is the command.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache

from noisewise_bench import behaviour
from noisewise_bench.names import BenchError
from noisewise_bench.task import Row

#: Stands for the digest of rows that several versions of one method or problem have computed.
MIXED = "mixed"
BEGIN, END = "<!-- stale -->", "<!-- /stale -->"
_STAMP = re.compile(r"<!-- made by\n(.*?)\n-->\n?", re.DOTALL)
_MARK = re.compile(f"{re.escape(BEGIN)}\n.*?{re.escape(END)}\n\n?", re.DOTALL)
#: So many names stand in a mark; the stamp has them all.
_NAMED = 3

Digests = dict[str, str]


@dataclass(frozen=True)
class Stamp:
    """Digests by name of what made a page, and the pages it quotes."""

    methods: Digests = field(default_factory=dict)
    problems: Digests = field(default_factory=dict)
    computed: Digests = field(default_factory=dict)
    sources: tuple[str, ...] = ()
    unquoted: tuple[str, ...] = ()

    def comment(self) -> str:
        """The stamp as it stands in a page, one line per name."""
        content = {name: part for name, part in vars(self).items() if part}
        text = json.dumps(content, indent=1, sort_keys=True)
        return f"<!-- made by\n{text}\n-->"

    def outdated(self) -> Digests:
        """Names whose digest is not that of the code, with the digest of the stamp."""
        known: tuple[tuple[Digests, Callable[[str], str | None]], ...] = (
            (self.methods, _of_method),
            (self.problems, behaviour.of_problems),
            (self.computed, of_computed),
        )
        return {
            name: digest
            for digests, now in known
            for name, digest in digests.items()
            # What cannot be computed here (a missing package) cannot be compared.
            if now(name) != "" and now(name) != digest
        }


def _of_method(name: str) -> str | None:
    try:
        return behaviour.of_method(name)
    except BenchError:  # no such method any more
        return None


@cache
def of_computed(name: str) -> str:
    """Digest of an artifact that needs no campaign: of its tables at the smallest scale."""
    from noisewise_bench.experiments.paper import _artifact, _registry  # imports the studies

    found = _registry.artifacts().get(name)
    return "" if found is None else _artifact.digest(found)


def of_rows(rows: Iterable[Row]) -> Stamp:
    """The stamp of a page made of rows."""
    methods: dict[str, set[str]] = {}
    problems: dict[str, set[str]] = {}
    for row in rows:
        methods.setdefault(row.method, set()).add(row.method_digest)
        problems.setdefault(behaviour.family(row.problem), set()).add(row.problem_digest)
    return Stamp(_single(methods), _single(problems))


def union(
    stamps: Iterable[Stamp], sources: Iterable[str] = (), unquoted: Iterable[str] = ()
) -> Stamp:
    """The stamp of a page that quotes other pages, but nothing of the methods ``unquoted``."""
    silent = tuple(unquoted)
    parts: dict[str, dict[str, set[str]]] = {"methods": {}, "problems": {}, "computed": {}}
    for stamp in stamps:
        for part, seen in parts.items():
            for name, digest in getattr(stamp, part).items():
                if part != "methods" or name not in silent:
                    seen.setdefault(name, set()).add(digest)
    methods, problems, computed = (_single(seen) for seen in parts.values())
    return Stamp(methods, problems, computed, tuple(sources), silent)


def _single(seen: Mapping[str, set[str]]) -> Digests:
    return {
        name: min(digests) if len(digests) == 1 else MIXED for name, digests in sorted(seen.items())
    }


def read(text: str) -> Stamp | None:
    """The stamp of a page, None if it has none."""
    match = _STAMP.search(text)
    if match is None:
        return None
    content = json.loads(match[1])
    lists = {name: tuple(content.get(name, ())) for name in ("sources", "unquoted")}
    return Stamp(**content | lists)


def stamped(text: str, stamp: Stamp) -> str:
    """The page with this stamp at its end, or in the place of the stamp it has."""
    if _STAMP.search(text):
        return _STAMP.sub(lambda _: stamp.comment() + "\n", text)
    return f"{text.rstrip()}\n\n{stamp.comment()}\n"


def command(text: str, folder: str) -> str | None:
    """The command that makes a page of ``folder`` anew: what printed it, as the page says."""
    match = re.search(r"Printed by `([^`]+)`", text)
    if match is None:
        return None
    # Studies write elsewhere unless told, so that a trial does not overwrite what is committed.
    return f"{match[1]} --out {folder}" if ".experiments" in match[1] else match[1]


def sentence(outdated: Digests) -> str:
    """The names that have changed, in words: the first few with their digests."""
    shown = [f"`{name}` ({_told(digest)})" for name, digest in list(outdated.items())[:_NAMED]]
    more = len(outdated) - len(shown)
    parts = [*shown, f"{more} more"] if more else shown
    return " and ".join(part for part in (", ".join(parts[:-1]), parts[-1]) if part)


def _told(digest: str) -> str:
    if digest == MIXED:
        return "several digests"
    return f"digest {digest}" if digest else "digest not known"


def mark(stamp: Stamp, again: str) -> str:
    """What a stale page must say, empty for another; ``again`` makes the page anew."""
    outdated = stamp.outdated()
    if not outdated:
        return ""
    if stamp.sources:
        said = (
            f"This page quotes tables made by an earlier version of {sentence(outdated)}; run them "
            f"again, bring the text up to date, then run `{again}`."
        )
    else:
        said = (
            f"This table was made by an earlier version of {sentence(outdated)}; run `{again}` "
            "again."
        )
    return f"{BEGIN}\n> **Stale.** {said}\n{END}\n"


def marked(text: str, again: str) -> str:
    """The page with the mark that it must have: a sentence under its title if it is stale."""
    stamp = read(text)
    bare = _MARK.sub("", text)
    said = "" if stamp is None else mark(stamp, again)
    title, newlines, rest = bare.partition("\n\n")
    return f"{title}{newlines}{said}\n{rest}" if said else bare
