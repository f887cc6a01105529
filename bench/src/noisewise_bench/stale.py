"""Which committed pages are stale: ``python -m noisewise_bench.stale``.

A page is stale when a method or a problem behind it does not behave as it did when the page was
made; its stamp (see `noisewise_bench.stamps`) tells. Without options the command lists stale pages
with what makes them anew, and fails if one of them does not say that it is stale. ``--mark`` writes
the sentence that says so into every stale page and takes it out of the others. ``--adopt PAGE``
gives a hand-written page the digests of the pages it quotes, once its text has been brought up to
date.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from noisewise_bench import headline, stamps

FINDINGS = Path("docs/findings")
MARK = "python -m noisewise_bench.stale --mark"
ADOPT = "python -m noisewise_bench.stale --adopt"


def pages(root: Path) -> list[str]:
    """Every page that carries results, relative to ``root``; the front pages last."""
    found = sorted(p.relative_to(root).as_posix() for p in (root / FINDINGS).rglob("*.md"))
    return [*found, *(page for page in headline.PAGES if (root / page).exists())]


def expected(root: Path, page: str) -> str:
    """The text of a page with the mark that it must have, or without one."""
    text = _read(root, page)
    if page in headline.PAGES:
        return headline.rewritten(text, headline.content(root / FINDINGS))
    return stamps.marked(text, again(page, text))


def again(page: str, text: str) -> str:
    """The command that makes a page anew."""
    if page in headline.PAGES:
        return headline.COMMAND
    return stamps.command(text, Path(page).parent.as_posix()) or f"{ADOPT} {page}"


def complaint(root: Path, page: str) -> str | None:
    """What is wrong with a page, in a sentence that says what to run; None if nothing is."""
    text = _read(root, page)
    stamp = stamps.read(text)
    if stamp is None:
        return f"{page} does not say which methods and problems made it: run `{again(page, text)}`"
    if expected(root, page) == text:
        return None
    if outdated := stamp.outdated():
        return (
            f"{page} was made by an earlier version of {stamps.sentence(outdated)}: run "
            f"`{again(page, text)}` again, or mark it with `{MARK}`"
        )
    return f"{page} says that it is stale and is not, or is not up to date: run `{MARK}`"


def admitted(root: Path, page: str) -> str | None:
    """That a page is stale, in a sentence, if its mark says so and is up to date."""
    text = _read(root, page)
    if stamps.BEGIN not in text or complaint(root, page):
        return None
    return f"{page} is stale and says so: `{again(page, text)}`"


def mark(root: Path) -> list[str]:
    """Bring the marks of all pages up to date; the pages that changed."""
    changed = []
    for page in pages(root):
        text = expected(root, page)
        if text != _read(root, page):
            (root / page).write_text(text, encoding="utf-8")
            changed.append(page)
    return changed


def adopt(root: Path, page: str) -> None:
    """Give a hand-written page the digests of the pages that its stamp names as sources."""
    text = _read(root, page)
    stamp = stamps.read(text)
    if stamp is None or not stamp.sources:
        raise ValueError(f"{page} names no sources in its stamp")
    found = [stamps.read(_read(root, source)) for source in stamp.sources]
    if missing := [s for s, one in zip(stamp.sources, found, strict=True) if one is None]:
        raise ValueError(f"{missing[0]}, which {page} quotes, has no stamp")
    known = [one for one in found if one is not None]
    made = stamps.union(known, stamp.sources, stamp.unquoted)
    new = stamps.stamped(text, made)
    (root / page).write_text(stamps.marked(new, again(page, new)), encoding="utf-8")


def _read(root: Path, page: str) -> str:
    return (root / page).read_text(encoding="utf-8")


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m noisewise_bench.stale", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument(
        "--mark", action="store_true", help="bring the marks of all pages up to date"
    )
    parser.add_argument("--adopt", nargs="+", default=[], metavar="PAGE", help="hand-written pages")
    parser.add_argument("--root", type=Path, default=Path(), help="of the repository (here)")
    args = parser.parse_args(argv)
    try:
        for page in args.adopt:
            adopt(args.root, page)
        changed = mark(args.root) if args.mark else []
        wrong = [said for page in pages(args.root) if (said := complaint(args.root, page))]
        shown = [] if args.mark else pages(args.root)
        known = [said for page in shown if (said := admitted(args.root, page))]
    except (OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(*(f"{page} changed" for page in changed), *known, *wrong, sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
