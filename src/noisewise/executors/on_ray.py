"""Workers of a Ray cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from noisewise.errors import install
from noisewise.executors.base import Evaluator, Limits, WorkerDied, Workers
from noisewise.executors.futures import Futures, Source


@dataclass(frozen=True, kw_only=True)
class RaySpec(Workers):
    """See `ray`."""

    options: Mapping[str, Any]

    def start(self, fun: Callable[..., Any], args: tuple[Any, ...], limits: Limits) -> Evaluator:
        source = RaySource(fun, self.workers, dict(self.options))
        return Futures(fun, args, source, self.within(limits))


def ray(
    *,
    workers: int | None = None,
    timeout: float | None = None,
    retries: int | None = None,
    **options: Any,
) -> RaySpec:
    """The workers of a Ray cluster, for ``executor=``.

    Uses the cluster that ``ray.init`` connected to, or starts Ray on this machine and shuts it
    down after the run. ``workers`` is how many evaluations run at the same time: what the
    cluster has CPUs, GPUs and other resources for by default, also when nodes come and go.
    ``options`` are those of a Ray
    task, such as ``num_cpus=2`` or ``num_gpus=1``. A worker that exceeds ``timeout`` is killed.
    Ray unpickles what workers return: use clusters that you trust.

    >>> import noisewise as nw
    >>> nw.executors.ray(workers=8, num_gpus=1).workers  # for minimize(..., executor=...)
    8
    """
    return RaySpec(workers=workers, timeout=timeout, retries=retries, options=options)


class RaySource(Source):
    """Tasks on the cluster of this process."""

    def __init__(
        self, fun: Callable[..., Any], workers: int | None, options: dict[str, Any]
    ) -> None:
        try:
            import ray as engine
        except ImportError:
            raise ImportError(f"executors.ray needs Ray: {install('ray')}") from None

        # Ray takes functions only, not what can be called.
        def call(x: Any, *args: Any, **more: Any) -> Any:
            return fun(x, *args, **more)

        # Ray would repeat a task on its own, without telling; retries are counted here.
        self._task = engine.remote(max_retries=0, **{"num_cpus": 1, **options})(call)
        self._ray = engine
        self._own = not engine.is_initialized()
        if self._own:
            engine.init(include_dashboard=False, log_to_driver=False)
        self._options, self.elastic = options, workers is None
        self.workers = workers or self.slots()
        self._refs: dict[Any, Any] = {}

    def submit(self, fun: Callable[..., Any], x: Any, args: tuple[Any, ...], **more: Any) -> Any:
        ref = self._task.remote(x, *args, **more)
        future = ref.future()
        self._refs[future] = ref
        return future

    def slots(self) -> int:
        return at_a_time(self._ray.cluster_resources(), self._options)

    def result(self, future: Any) -> Any:
        errors = self._ray.exceptions
        self._refs.pop(future, None)
        try:
            return future.result()
        except errors.RayTaskError as error:
            raise (error.cause or error) from None
        except errors.TaskCancelledError:
            raise
        except errors.RayError as error:
            said = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise WorkerDied(f"a Ray worker was lost: {said}") from error

    def free(self, future: Any) -> bool:
        ref = self._refs.pop(future, None)
        if ref is not None:
            self._ray.cancel(ref, force=True)
        return ref is not None

    def close(self) -> None:
        for ref in self._refs.values():
            self._ray.cancel(ref, force=True)
        self._refs.clear()
        if self._own:
            self._ray.shutdown()


def at_a_time(there: Mapping[str, float], options: Mapping[str, Any]) -> int:
    """How many tasks with these options have room; one per CPU if they need nothing at all."""
    cpus, gpus = options.get("num_cpus"), options.get("num_gpus")
    needs = {"CPU": 1 if cpus is None else cpus, "GPU": gpus, **(options.get("resources") or {})}
    room = [there.get(what, 0.0) / need for what, need in needs.items() if need]
    return max(1, int(min(room, default=there.get("CPU", 1.0))))
