"""A run that several processes share, as one of them has it.

Every process applies the same events in the same order and is therefore in the same state. An
event is a wish that can always be granted: to ask for trials is to get those that there are,
perhaps none; the value of a trial that somebody else has told already changes nothing; a process
that is gone has no trials to give back a second time. So a process may write an event without
knowing what others write at the same moment.

A value comes with the point at which it was measured: processors that round otherwise may sample a
point that differs in its last digits.
"""

from __future__ import annotations

import base64
import io
import json
import math
import time
from typing import Any, final

import numpy as np

from noisewise._types import FloatArray
from noisewise.errors import CheckpointError
from noisewise.loop import checkpoint, events, telling
from noisewise.loop.events import Asked, Budget, Gone, Stop, TimeUp
from noisewise.loop.optimizer import Optimizer
from noisewise.measured.population import SEARCH
from noisewise.problem.trial import Trial
from noisewise.problem.values import Value
from noisewise.run import changes, handout
from noisewise.run.search import Search
from noisewise.storage import Entry

#: What stands between an event and a point.
_TAB = "\t"


def line(event: events.Event, point: FloatArray | None = None) -> str:
    """An event as it is written, with the point at which a value was measured."""
    text = events.write(event).decode().rstrip("\n")
    if point is None:
        return text
    return f"{text}{_TAB}{base64.b64encode(point.astype('<f8').tobytes()).decode('ascii')}"


@final
class Replica:
    """An optimizer, the number of the newest event that it knows, and who has which trial."""

    def __init__(self, opt: Optimizer, seen: int = 0) -> None:
        self.opt, self.seen = opt, seen
        self.claims: dict[int, str] = {}
        #: The event after which the newest known snapshot was made, and the seconds that it took
        #: to apply those that came later.
        self.kept, self.cost = seen, 0.0

    @property
    def search(self) -> Search:
        return self.opt._search

    # -- states

    def state(self) -> str:
        """All of it, as text."""
        opt = self.opt
        whole = checkpoint.content(opt.method, opt.state, opt.extra, opt.about).decode()
        return f"{json.dumps([[id, worker] for id, worker in self.claims.items()])}\n{whole}"

    def restore(self, number: int, text: str, name: str, method: Any) -> None:
        """The state after event ``number``."""
        claims, _, whole = text.partition("\n")
        file = io.BytesIO(whole.encode())
        self.opt._restore(name, checkpoint.parse(name, file, method))
        self.claims = {int(id): str(worker) for id, worker in json.loads(claims)}
        self.seen = self.kept = number
        self.cost = 0.0

    # -- events

    def apply(self, entry: Entry) -> None:
        """Take in the next event."""
        began = time.perf_counter()
        text, _, point = entry.line.partition(_TAB)
        event = events.read(text.encode())
        if isinstance(event, Value):
            self._tell(event, point)
        elif isinstance(event, Asked):
            self.claims |= {trial.id: entry.worker for trial in self.search.ask(event.n)}
        elif isinstance(event, Gone):
            self._give_back(event.worker)
        elif isinstance(event, TimeUp) and not self.opt.state.time_up:
            changes.shorten(self.search, event.left)
        elif isinstance(event, Budget):
            changes.regrant(self.search, max(event.n, self.opt.state.ledger.charged))
        elif isinstance(event, Stop):
            self.opt.stop()
        self.seen = entry.number
        self.cost += time.perf_counter() - began

    def _tell(self, value: Value, point: str) -> None:
        """A value counts if its trial waits for one, whoever has it now."""
        run = self.opt.state
        self.claims.pop(value.id, None)
        if (part := run.holder(value.id)) is None:
            if value.id >= run.next_id:
                raise CheckpointError(
                    f"this process has come to another state than that which evaluated trial "
                    f"{value.id}: use the same versions of noisewise, numpy and scipy everywhere"
                )
            return
        if point and part.kind == SEARCH:
            row = np.frombuffer(base64.b64decode(point), "<f8")
            if row.tobytes() != self.opt.candidate(value.id).tobytes():
                self.opt.move(value.id, row)
        try:
            telling.replay(self.search, value)
        except ValueError:  # others have told another number of constraints
            telling.replay(self.search, value._replace(y=math.nan, why="wrong constraints"))

    def _give_back(self, worker: str) -> None:
        """Hand out again what a process had that is gone."""
        for id in sorted(id for id, holder in self.claims.items() if holder == worker):
            del self.claims[id]
            if self.opt.state.holder(id) is not None:
                changes.abandon(self.search, id)

    # -- trials

    def trials(self, worker: str, held: Any) -> list[Trial]:
        """Trials that this process has and does not hold yet."""
        ids = sorted(id for id, who in self.claims.items() if who == worker and id not in held)
        run = self.opt.state
        return handout.trials(run, [id for id in ids if run.holder(id) is not None])

    def point(self, id: int) -> FloatArray | None:
        """Where a trial is measured; None where that is the same everywhere."""
        part = self.opt.state.holder(id)
        return None if part is None or part.kind != SEARCH else self.opt.candidate(id)
