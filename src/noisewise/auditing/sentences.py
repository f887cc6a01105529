"""What an audit says in words, the same in Python, on the command line and on the page."""

from __future__ import annotations

import math
from typing import Any

from noisewise.answer.written import rounded
from noisewise.report.words import counted, number, valued


def summary(audit: Any, more: int | None = None) -> list[str]:
    """All of it, a line each."""
    return [
        f"use: {setting(audit)}",
        f"expected: {audit.said}",
        f"best trial: {luck(audit)}",
        *([f"choice: {choice(audit)}"] if choice(audit) else []),
        f"noise: {noise(audit)}",
        f"more: {prospects(audit, more)}",
        f"trials: {trials(audit)}",
        *(f"note: {note}" for note in audit.notes),
    ]


def setting(audit: Any) -> str:
    """The setting to use."""
    if audit.params is None:
        return "x = " + ", ".join(number(v, 5) for v in audit.x.tolist())
    return ", ".join(f"{name} = {valued(v, 5)}" for name, v in audit.params.items())


def luck(audit: Any) -> str:
    """Whether the best trial was luck."""
    best = audit.luckiest
    said, low, high = rounded(best.fun, best.interval)
    again = f"its setting is expected to give {said} (95 % interval {low} to {high})"
    if best.lucky:
        return f"its value of {number(best.value)} is luck: measured again, {again}"
    return f"its value of {number(best.value)} may be right: {again}"


def choice(audit: Any) -> str:
    """How the recommended setting compares with that of the best trial."""
    if math.isnan(audit.chance):
        return ""
    if audit.chance < 0.5:
        return (
            "the setting of the best trial may be as good: the chance that the recommended one is "
            f"better is {audit.chance:.0%}"
        )
    return (
        "the chance that the recommended setting is better than that of the best trial is "
        f"{audit.chance:.0%}"
    )


def noise(audit: Any) -> str:
    """How large the noise is, where it matters."""
    return (
        f"a single value there has a standard deviation of about {audit.noise:.2g}; noise puts "
        f"{audit.swapped:.0%} of the pairs in the better half of the trials in the wrong order"
    )


def prospects(audit: Any, more: int | None = None) -> str:
    """What further evaluations would buy."""
    more = audit.n if more is None else more
    now = audit.interval[1] - audit.interval[0]
    return (
        f"{counted(more, 'evaluation')} of this setting would narrow its interval from a length "
        f"of {now:.2g} to about {audit.width_after(more):.2g}; a longer search may find a setting "
        f"that is better by about {audit.left:.2g}"
    )


def trials(audit: Any) -> str:
    """What is behind it."""
    failed = f", {audit.failures} failed" if audit.failures else ""
    better = "larger" if audit.maximize else "smaller"
    return f"{counted(audit.n, 'value')}{failed}; {better} is better"


def as_data(audit: Any) -> dict[str, Any]:
    """The numbers of an audit, as values that JSON knows."""
    best = audit.luckiest
    return {
        "params": audit.params,
        "x": audit.x.tolist(),
        "fun": audit.fun,
        "standard_error": audit.fun_se,
        "interval": list(audit.interval),
        "luckiest": {
            "params": best.params,
            "value": best.value,
            "fun": best.fun,
            "interval": list(best.interval),
            "lucky": best.lucky,
        },
        "chance": None if math.isnan(audit.chance) else audit.chance,
        "noise": audit.noise,
        "swapped": audit.swapped,
        "left": audit.left,
        "n": audit.n,
        "failures": audit.failures,
        "maximize": audit.maximize,
        "notes": audit.notes,
    }
