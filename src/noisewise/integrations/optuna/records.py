"""What the Optuna sampler keeps in the storage. Nothing but records, and records only grow:

- one attribute of the study per search space: the settings of the run (see `begin`);
- one attribute of each trial of the sampler, its *mark*, with

  - ``kind``: what the trial is for ("start": to learn the search space; "enqueued" by the user;
    "begin": its worker is about to write the ``settings`` of this name);
  - ``run`` and ``id``: which evaluation of which run it claims;
  - ``attempt``: how often the evaluation was claimed before, where that trial is taken for dead;
  - ``row``: the point exactly as it was sampled;
  - ``waited``: seconds that the worker waited before it had a point;
  - ``rest``: values of parameters that are not searched, where the recommendation is measured;
  - ``step``: the step that its worker is about to make; ``steps``: those that it has made, each
    with the values that the run was told in it (see `steps`);
  - ``placed``: pairs of an evaluation and the foreign trial that answers it; ``foreign``: the
    trial that is being placed.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from noisewise._types import FloatArray
from noisewise.integrations._extra import extra

optuna = extra("optuna")

#: Which points a run asks for, given its settings and values. A study whose run has another
#: version cannot be gone on with: its trials are data of a new run.
STREAM = 5
#: The trial attribute that holds the mark, and the start of the study attributes' names.
MARK = f"noisewise:{STREAM}"
#: The same of versions before there was a number.
_EARLIER = "noisewise"


def trials(study: Any) -> list[Any]:
    """All trials in order of their numbers, as the storage has them now; not to be changed."""
    found: list[Any] = study._storage.get_all_trials(study._study_id, deepcopy=False)
    return found


def mark(trial: Any) -> dict[str, Any]:
    """The mark of a trial; empty if it has none."""
    found: dict[str, Any] = trial.system_attrs.get(MARK, {})
    return found


def attempt(trial: Any) -> int:
    """How often the evaluation that the trial claims was claimed before."""
    return int(mark(trial).get("attempt", 0))


def write(study: Any, trial: Any, content: Mapping[str, Any]) -> None:
    """Mark a trial that runs."""
    study._storage.set_trial_system_attr(trial._trial_id, MARK, dict(content))


def complete(trial: Any) -> bool:
    """Whether the trial has a value."""
    return bool(trial.state == optuna.trial.TrialState.COMPLETE)


def minimised(study: Any, value: float) -> float:
    """A study's value as one to minimise, and back."""
    return -value if study.direction == optuna.study.StudyDirection.MAXIMIZE else value


def attribute(space: Mapping[str, Any], when: Mapping[str, Any]) -> str:
    """Name of the study attribute that holds the settings of the run over ``space`` with these
    conditions."""
    return f"{MARK}:{_digest([_space_json(space), when])}"


def settings(study: Any, name: str) -> dict[str, Any] | None:
    """The settings kept in the study attribute ``name``."""
    found: dict[str, Any] | None = study._storage.get_study_system_attrs(study._study_id).get(name)
    return found


def has_earlier(study: Any) -> bool:
    """Whether a version of noisewise that this one cannot go on from has searched in the study."""
    attributes = study._storage.get_study_system_attrs(study._study_id)
    return any(
        name.startswith(f"{_EARLIER}:") and not name.startswith(f"{MARK}:") for name in attributes
    )


def runs(study: Any) -> dict[str, dict[str, Any]]:
    """The settings of all runs of a study."""
    attributes = study._storage.get_study_system_attrs(study._study_id)
    found = [kept for name, kept in attributes.items() if name.startswith(f"{MARK}:")]
    return {kept["run"]: kept for kept in found}


def keep_settings(study: Any, name: str, kept: Mapping[str, Any]) -> None:
    """Write the settings into the study attribute ``name``."""
    study._storage.set_study_system_attr(study._study_id, name, dict(kept))


def beginners(study: Any, name: str) -> set[int]:
    """Numbers of the trials whose workers are about to write the settings ``name``."""
    return {
        trial.number
        for trial in trials(study)
        if mark(trial).get("settings") == name and not trial.state.is_finished()
    }


def begin(space: Mapping[str, Any], **options: Any) -> dict[str, Any]:
    """Settings of a new run over ``space``."""
    kept = options | {"space": _space_json(space)}
    return kept | {"run": _digest(kept)}


def budgets(kept: Mapping[str, Any]) -> tuple[int, ...] | None:
    """The budgets of the stages of a run with these settings; None: there is no end."""
    return None if kept["budgets"] is None else tuple(kept["budgets"])


def space_of(kept: Mapping[str, Any]) -> dict[str, Any]:
    """The search space that settings are for."""
    convert = optuna.distributions.json_to_distribution
    return {name: convert(text) for name, text in kept["space"].items()}


def as_text(row: FloatArray) -> str:
    """A point as text, to the last bit."""
    return base64.b64encode(row.astype("<f8").tobytes()).decode("ascii")


def as_row(text: str) -> FloatArray:
    """The point that `as_text` was given."""
    return np.frombuffer(base64.b64decode(text), "<f8")


def _space_json(space: Mapping[str, Any]) -> dict[str, str]:
    return {name: optuna.distributions.distribution_to_json(d) for name, d in space.items()}


def _digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:12]
