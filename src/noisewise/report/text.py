"""A run in plain text and as plain data."""

from __future__ import annotations

import math
import textwrap
from typing import Any

from noisewise.answer import options
from noisewise.answer.outlook import Outlook
from noisewise.answer.written import estimated
from noisewise.report.facts import Facts, Limits
from noisewise.report.versus import Versus
from noisewise.report.words import counted, ended, number, printable, sentence, valued


def summary(facts: Facts) -> str:
    """The answer first, then what is behind it; lines of at most 80 characters or so."""
    width = max(map(len, facts.recommended))
    rows = [f"  {name:<{width}}  {valued(v)}" for name, v in facts.recommended.items()]
    lines = [] if facts.versus is None else [*_compared(facts.versus), ""]
    lines += [*_wrapped(_heading(facts)), *map(printable_row, rows)]
    lines += ["", *_wrapped(f"Estimate: {estimate(facts)}: {basis(facts)}")]
    lines += _wrapped(constraints(facts))
    if facts.options is not None:
        listed = ["", "Options:", *(f"  {line}" for line in options.lines(facts.options)), ""]
        lines += [printable_row(line) for line in listed]
    for said in prospects(facts):
        lines += _wrapped(said)
    lines += _wrapped(f"Luckiest: {luck(facts)}")
    lines += _wrapped(f"Budget: {spending(facts)}.")
    lines += _wrapped(f"Method: {facts.method}; {facts.message}.")
    for warning in facts.warnings:
        lines += _wrapped(f"Warning: {ended(warning)}")
    if facts.command and facts.answered:
        lines += ["", f"{use(facts)}:", f"  {printable(facts.command)}"]
    return "\n".join(lines)


def _compared(versus: Versus) -> list[str]:
    """The answer to the question whether it is better than today, and both settings."""
    lines = [line for said in versus.sentences for line in _wrapped(said)]
    for name, setting in (("Today", versus.rows()[0][1]), ("Best found", versus.rows()[0][2])):
        lines += _wrapped(f"{name}: {setting}.")
    return lines


def nothing(facts: Facts) -> bool:
    """Whether no evaluation has succeeded, so that there is nothing to recommend."""
    return math.isnan(facts.luckiest_value)


def use(facts: Facts) -> str:
    """The words above the command with the recommended values."""
    return f"Use it ({facts.command_note})" if facts.command_note else "Use it"


def _heading(facts: Facts) -> str:
    if nothing(facts):
        return "Nothing to recommend: no evaluation has succeeded. The search stands at:"
    if not facts.answered:
        return "Nothing to recommend: the run ended without success. The search stands at:"
    return "Recommended:" if facts.done else "Recommended so far:"


def printable_row(row: str) -> str:
    """A row without characters that steer a terminal, its spaces kept."""
    return "".join(c if c.isprintable() else "?" for c in row)


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(printable(text), 80, subsequent_indent="  ", break_on_hyphens=False)


def estimate(facts: Facts) -> str:
    """The estimate with its interval, as everywhere."""
    if math.isnan(facts.value):
        return "unknown"
    if awaited(facts):
        return f"{number(facts.value)} (not measured yet)"
    return estimated(facts.value, facts.interval, facts.kind, facts.measured, facts.measured_failed)


def awaited(facts: Facts) -> bool:
    """Whether the answer is not measured, but will be."""
    return not (facts.confirmed or facts.done) and facts.kept > 0


def constraints(facts: Facts) -> str:
    """What is known about the measured constraints; nothing where there are none."""
    return "" if facts.limits is None else f"Constraints: {facts.limits.said}."


def prospects(facts: Facts) -> list[str]:
    """How good the answer is and whether more evaluations would help, in sentences."""
    if not (facts.answered and facts.done):
        return []
    return [f"{sentence(said)}." for said in facts.outlook.sentences()]


def basis(facts: Facts) -> str:
    """What the estimate is the mean of."""
    if math.isnan(facts.value):
        if not facts.spent:
            return "there are no evaluations yet."
        return (
            "no evaluation has succeeded around the recommendation yet."
            if nothing(facts) or facts.done
            else "there are too few evaluations for an estimate yet."
        )
    values = counted(facts.measured - facts.measured_failed, "evaluation")
    if facts.kind == "exact":
        return "no noise was seen."
    if facts.confirmed:
        return f"the {facts.kind} of {values} of this point."
    if awaited(facts):
        kept = counted(facts.kept, "evaluation")
        return f"what the method expects here so far; kept to measure the answer: {kept}."
    expected = "what the method expects here, or the mean of the last generation around this point."
    if facts.kept:
        kept = counted(facts.kept, "evaluation")
        return f"{expected} The run ended before the {kept} kept to measure the point were made."
    return f"{expected} Set confirm to measure the point itself."


def luck(facts: Facts) -> str:
    """The luckiest draw and why not to trust it."""
    if math.isnan(facts.luckiest_value):
        return "there is none: no evaluation has succeeded."
    if facts.spent == 1:
        return f"{number(facts.luckiest_value)} is the only value so far."
    best = "largest" if facts.maximize else "smallest"
    said = f"{number(facts.luckiest_value)} is the {best} of {counted(facts.spent, 'value')}"
    if facts.constant:
        return f"{said}: all are the same."
    if facts.exact:
        return f"{said}. Repeated evaluations agreed exactly, so there is no luck in it."
    return (
        f"{said}. Do not trust it: the best of many noisy values is lucky. Measured again, its "
        "point would be worse on average."
    )


def spending(facts: Facts) -> str:
    """What the budget was spent on."""
    parts = ", ".join(f"{n} {what}" for what, n in facts.parts.items() if n)
    failed = f"; {counted(facts.failures, 'evaluation')} failed" if facts.failures else ""
    return f"{facts.spent} of {counted(facts.budget, 'evaluation')} ({parts}){failed}"


def as_data(facts: Facts) -> dict[str, Any]:
    """Everything a script may want, as values that JSON knows; unknown numbers are None."""
    return {
        "title": facts.title,
        "method": facts.method,
        "done": facts.done,
        "success": facts.success,
        "message": facts.message,
        "warnings": facts.warnings,
        "maximize": facts.maximize,
        "recommended": facts.recommended,
        "estimate": known(facts.value),
        "standard_error": known(facts.se),
        "interval": [known(end) for end in facts.interval],
        "confirmed": facts.confirmed,
        "confirmations": {"n": facts.measured, "failed": facts.measured_failed},
        "comparison": None if facts.versus is None else facts.versus.as_data(),
        "outlook": _prospects(facts.outlook),
        "constraints": _constraints(facts.limits),
        "options": _options(facts.options),
        "luckiest": {"parameters": facts.luckiest, "value": known(facts.luckiest_value)},
        "budget": facts.budget,
        "spent": facts.spent,
        "generations": facts.generations,
        "spent_on": facts.parts,
        "failures": facts.failures,
        "misranking": known(facts.misranking),
        "misranking_n": facts.misranking_n,
        "importance": [vars(i) for i in facts.importances],
        "command": facts.command,
        "history": {
            name: [known(v) for v in column.tolist()] for name, column in facts.history.items()
        },
    }


def _constraints(found: Limits | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "estimates": [known(g) for g in found.means],
        "standard_errors": [known(s) for s in found.errors],
        "feasible": found.feasible,
        "probability": known(found.chance),
    }


def _options(found: dict[str, list[Any]] | None) -> dict[str, list[Any]] | None:
    if found is None:
        return None
    return found | {name: [known(v) for v in found[name]] for name in ("mean", "shrunk", "chance")}


def _prospects(found: Outlook) -> dict[str, Any]:
    rival = found.runner_up
    return {
        "runner_up": rival and {"worse_by": known(rival.worse_by), "se": known(rival.se)},
        "noise": known(found.noise),
        "noise_share": known(found.noise_share),
        "improvement": known(found.improvement),
        "spread": known(found.spread),
        "width": known(found.estimate.width),
        "width_after_as_many_again": known(found.width_after(found.budget)),
        "width_of_a_search_twice_as_long": known(found.width_of_longer_search(found.budget)),
        "enough": found.enough,
    }


def known(value: float) -> float | None:
    """A number as JSON has it: None where it is not known."""
    return float(value) if math.isfinite(value) else None
