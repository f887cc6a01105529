"""Workers of a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from noisewise._check import shown
from noisewise.errors import install
from noisewise.executors.base import Evaluator, Limits, WorkerDied, Workers
from noisewise.executors.futures import Futures, Source

#: Seconds in which a scheduler must answer.
_PATIENCE = 10.0


@dataclass(frozen=True, kw_only=True)
class DaskSpec(Workers):
    """See `dask`."""

    client: Any

    def start(self, fun: Callable[..., Any], args: tuple[Any, ...], limits: Limits) -> Evaluator:
        source = DaskSource(self.client, self.workers)
        return Futures(fun, args, source, self.within(limits))


def dask(
    client: Any,
    *,
    workers: int | None = None,
    timeout: float | None = None,
    retries: int | None = None,
) -> DaskSpec:
    """The workers of a Dask cluster, for ``executor=``.

    ``client`` is a ``dask.distributed.Client`` or the address of a scheduler. ``workers`` is how
    many evaluations run at the same time: by default as many as the workers have threads, also when
    workers come and go. A trial whose
    worker dies is tried again by Dask itself (``distributed.scheduler.allowed-failures`` times)
    and then ``retries`` times. An evaluation that exceeds ``timeout`` keeps its worker until it
    ends: Dask cannot interrupt it. Dask unpickles what workers return: use clusters that you trust.

    >>> import noisewise as nw
    >>> cluster = nw.executors.dask("tcp://10.0.0.5:8786", timeout=3600.0)
    >>> cluster.timeout  # nothing is connected to before minimize(..., executor=cluster)
    3600.0
    """
    return DaskSpec(client=client, workers=workers, timeout=timeout, retries=retries)


class DaskSource(Source):
    """A client of ours (given an address) or of the user's."""

    def __init__(self, client: Any, workers: int | None) -> None:
        try:
            import distributed
        except ImportError:
            raise ImportError(f"executors.dask needs Dask: {install('dask')}") from None
        self._killed = distributed.KilledWorker
        self._own = isinstance(client, str)
        if self._own:
            try:
                client = distributed.Client(client, timeout=_PATIENCE, set_as_default=False)
            except (OSError, ValueError) as error:
                said = str(error).splitlines()[0] if str(error) else type(error).__name__
                raise ValueError(
                    f"client must be the address of a Dask scheduler: {said}"
                ) from None
        if not isinstance(client, distributed.Client):
            raise ValueError(
                f"client must be a dask.distributed.Client or an address, got {shown(client)}"
            )
        if client.asynchronous:
            raise ValueError("client must not be asynchronous, got one made with asynchronous=True")
        self._client = client
        self.elastic = workers is None
        self.workers = workers or self.slots()
        if self.workers == 0:
            self.close()
            raise ValueError(
                "client must have workers, got a Dask cluster without any: wait for them "
                "(client.wait_for_workers), or say how many there will be (workers=n)"
            )

    def submit(self, fun: Callable[..., Any], x: Any, args: tuple[Any, ...], **more: Any) -> Any:
        return self._client.submit(fun, x, *args, pure=False, **more)

    def slots(self) -> int:
        return sum(self._client.nthreads().values())

    def result(self, future: Any) -> Any:
        try:
            return future.result()
        except self._killed as error:
            raise WorkerDied(f"Dask gave up a task: {error}") from error
        except Exception as error:
            # A value that was lost with its worker after it was announced: distributed then waits
            # for it on an event of another loop.
            if "bound to a different event loop" in str(error):
                raise WorkerDied("a value was lost with its Dask worker") from error
            raise

    def free(self, future: Any) -> bool:
        # Cancelled, it would go on all the same, and Dask would send the next task behind it.
        return False

    def close(self) -> None:
        if self._own:
            self._client.close()
