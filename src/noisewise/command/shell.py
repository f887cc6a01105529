"""Placeholders in a text for the shell: where one of them would not be taken as a word."""

from __future__ import annotations

import re

_PLAIN, _COMMAND, _BRACES = "", "$(", "${"
_SINGLE, _DOUBLE = "inside single quotes", "inside double quotes"
_BACKTICKS, _COMMENT = "inside backticks", "inside a comment"
_ARITHMETIC, _GROUP = "inside arithmetic", "inside arithmetic in brackets"
#: These go on to the end of the text: where they end is read differently by different shells.
_HERE, _ANSI = "inside or after a here-document (<<)", "inside or after a string in $'...'"
#: What begins outside of quotes, within double quotes and within arithmetic; longer signs first.
_OPEN = {
    "<<<": _PLAIN,
    "<<": _HERE,
    "$((": _ARITHMETIC,
    "((": _ARITHMETIC,
    "$[": _ARITHMETIC,
    "$(": _COMMAND,
    "(": _COMMAND,
    "${": _BRACES,
    "$'": _ANSI,
    "'": _SINGLE,
    '"': _DOUBLE,
    "`": _BACKTICKS,
}
_OPEN_IN_DOUBLE = {sign: _OPEN[sign] for sign in ("$((", "$[", "$(", "${", "`")}
_OPEN_IN_ARITHMETIC = {s: kind for s, kind in _OPEN.items() if s not in ("<<<", "<<", "((")}
_OPEN_IN_ARITHMETIC["("] = _GROUP
_SIGNS: dict[str, dict[str, str]] = {
    _BACKTICKS: {},
    _DOUBLE: _OPEN_IN_DOUBLE,
    _ARITHMETIC: _OPEN_IN_ARITHMETIC,
    _GROUP: _OPEN_IN_ARITHMETIC,
}
_CLOSE = {
    _COMMAND: ")",
    _BRACES: "}",
    _ARITHMETIC: "))",
    _GROUP: ")",
    _SINGLE: "'",
    _DOUBLE: '"',
    _BACKTICKS: "`",
    _COMMENT: "\n",
}
#: What a sign # follows where it begins a comment.
_BEFORE_COMMENT = ("", " ", "\t", "\n", ";", "&", "|", "(", ")")
#: Where a quoted value is one word.
_FINE = (_PLAIN, _COMMAND, _BRACES)


def misplaced(text: str, placeholder: re.Pattern[str]) -> tuple[str, str] | None:
    """The first placeholder (a match of the pattern whose group 2 is not empty) that is inside of
    quotes or the like, and where that is; None if all are outside."""
    inside, i = [_PLAIN], 0
    while i < len(text):
        match = placeholder.match(text, i)
        if match is None:
            i += _step(text, i, inside, placeholder.match(text, i + 1) is not None)
            continue
        where = next((kind for kind in inside if kind not in _FINE), "")
        before = text[i - 1 : i] if i else ""
        if before in ("$", "\\") and not where:
            where = f"right after {before}"
        if match[2] and where:
            return match[0], where
        i = match.end()
    return None


def _step(text: str, i: int, inside: list[str], last: bool) -> int:
    """Read on at place ``i``, before a placeholder if it is the ``last`` character there: note
    what begins or ends; the number of characters that were read."""
    here = inside[-1]
    if here in _CLOSE and text.startswith(_CLOSE[here], i):
        inside.pop()
        return len(_CLOSE[here])
    if here in (_SINGLE, _COMMENT, _HERE, _ANSI):
        return 1
    if text[i] == "\\":
        return 1 if last else 2
    if text[i] == "#" and here in (_PLAIN, _COMMAND) and text[i - 1 : i] in _BEFORE_COMMENT:
        inside.append(_COMMENT)
        return 1
    signs = _SIGNS.get(here, _OPEN)
    sign = next((sign for sign in signs if text.startswith(sign, i)), "")
    if not sign or (last and sign == text[i] + "{"):
        return 1
    if signs[sign]:
        inside.append(signs[sign])
    return len(sign)
