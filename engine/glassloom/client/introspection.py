"""`IntrospectionMethods`: what a client may ask of its cluster: its workers, its tasks, who holds what, the state of its head."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from time import monotonic, sleep
from typing import Any, TypeVar

from glassloom_metrics.worker_memory import in_memory_bytes

from glassloom._names import checked_name
from glassloom.client.base import ClientBase
from glassloom.client.blocking import Operation
from glassloom.client.deadline import Deadline
from glassloom.client.future import futures_of
from glassloom.errors import ClusterError, OptionError
from glassloom.graph import Key
from glassloom.protocol import failure, messages
from glassloom.store.device_account import DeviceAccount
from glassloom.store.pickling import dumps, loads
from glassloom.units import parse_seconds

T = TypeVar("T")
_LOOK_S = 0.01


def described_worker(worker: messages.WorkerInfo) -> dict[str, Any]:
    """Return what is known of a worker as plain values."""
    return {
        "number": worker.number,
        "pid": worker.pid,
        "nthreads": worker.nthreads,
        "memory_limit": worker.memory_limit_bytes,
        "memory": in_memory_bytes(worker),
        "rss": worker.rss_bytes,
        "managed": worker.managed_bytes,
        "shared": worker.shared_bytes,
        "spilled": worker.spilled_bytes,
        "baseline": worker.baseline_bytes,
        "unmanaged": worker.unmanaged_bytes,
        "pressure": worker.pressure,
        "resources": worker.resources,
        "cpu_percent": worker.cpu_percent,
        "running": worker.running,
        "has": worker.has,
        "device": _described_device(worker),
    }


def _described_device(worker: messages.WorkerInfo) -> dict[str, Any] | None:
    """Return what is known of a worker's device: results there, and what else takes its memory; None if it has none."""
    device, account = worker.device, worker.device_account or DeviceAccount()
    if device is None:
        return None
    return {
        "name": device.name,
        "uuid": device.uuid,
        "memory": device.total_bytes,
        "limit": device.limit_bytes,
        "held": account.held_bytes,
        "used": account.used_bytes,
        "pool": account.pool_bytes,
        "others": account.other_bytes,
        "moved": account.moved_bytes,
    }


class IntrospectionMethods(ClientBase):
    """The part of a client that asks its cluster."""

    def scheduler_info(self) -> Any:
        """Return the cluster's workers and the number of tasks in each state, as plain values."""
        return self._run(self._scheduler_info())

    def _scheduler_info(self, deadline: Deadline | None = None) -> Operation[dict[str, Any]]:
        info: messages.Info = yield from self._connection.ask(
            messages.GetInfo, "a question about its workers and tasks", deadline=deadline
        )
        return {
            "id": self.id,
            "name": self.name,
            "workers": {worker.name: described_worker(worker) for worker in info.workers},
            "tasks": dict(info.tasks),
        }

    def ncores(self, workers: Iterable[str] | None = None) -> Any:
        """Return the number of threads of each worker, or of those that are named."""
        return self._run(self._ncores(workers))

    def _ncores(self, workers: Iterable[str] | None = None) -> Operation[dict[str, int]]:
        info = yield from self._scheduler_info()
        return chosen_workers({name: worker["nthreads"] for name, worker in info["workers"].items()}, workers)

    nthreads = ncores

    def who_has(self, futures: Any = None) -> Any:
        """Return, for each held result, the workers that hold it; an empty list: it is in shared memory, for all.

        Parameters
        ----------
        futures
            Futures or a persisted collection; None: all results of the cluster.
        """
        return self._run(self._who_has(futures))

    def has_what(self, workers: Iterable[str] | None = None) -> Any:
        """Return, for each worker or those that are named, the keys of the results that only it holds."""
        return self._run(self._has_what(workers))

    def nbytes(self, futures: Any = None) -> Any:
        """Return the size in bytes of each held result."""
        return self._run(self._nbytes(futures))

    def _who_has(self, futures: Any) -> Operation[dict[Key, list[str]]]:
        holdings = yield from self._holdings(futures)
        found: dict[Key, list[str]] = {}
        for key, worker in zip(holdings.keys, holdings.workers, strict=True):
            found.setdefault(key, []).extend([] if worker is None else [worker])
        return found

    def _has_what(self, chosen: Iterable[str] | None) -> Operation[dict[str, list[Key]]]:
        found: dict[str, list[Key]] = {name: [] for name in (yield from self._ncores())}
        for key, workers in (yield from self._who_has(None)).items():
            for worker in workers:
                found.setdefault(worker, []).append(key)
        return chosen_workers(found, chosen)

    def _nbytes(self, futures: Any) -> Operation[dict[Key, int]]:
        holdings = yield from self._holdings(futures)
        return dict(zip(holdings.keys, holdings.nbytes, strict=True))

    def _holdings(self, futures: Any) -> Operation[messages.Holdings]:
        keys = None if futures is None else [future.key for future in futures_of(futures)]
        holdings: messages.Holdings = yield from self._connection.ask(
            lambda request: messages.WhoHas(request, keys), "which results are held"
        )
        return holdings

    def _task_states(self, keys: Sequence[Key], timeout_s: float) -> list[str] | None:
        """Return how tasks stand, in the words of `messages.TASK_STATES`; None if that isn't known in time.

        It waits for the head, so it is called in threads that may.
        """
        try:
            take = self._connection.post_question(lambda request: messages.GetTaskStates(request, list(keys)))
        except ClusterError:  # it has ended
            return None
        end_s = monotonic() + timeout_s
        while (answer := take()) is None and monotonic() < end_s:
            sleep(_LOOK_S)
        return None if answer is None else [messages.TASK_STATES[code] for code in answer.states]

    def get_worker_logs(self, n: int | None = None, workers: Iterable[str] | None = None) -> Any:
        """Return the last lines that tasks on each worker have printed or logged.

        Clients print these lines too, when they come (the option ``cluster.print-task-output``).

        These are what Python code writes to ``sys.stdout`` and ``sys.stderr``, or logs. What processes print that a task
        starts (``subprocess.run``), and what compiled code prints by itself, goes to the cluster's log alone; to see it
        here, capture it in the task: ``print(subprocess.run(..., capture_output=True, text=True).stdout)``.

        Parameters
        ----------
        n
            How many lines of each worker. None: all that are kept, 1000 at most.
        workers
            Names of workers. None: all that have printed anything, also those that are gone.

        Returns
        -------
        dict
            For each worker its lines, oldest first: the stream (``"stdout"``, ``"stderr"``, or the level of a log record such
            as ``"warning"``), and the text.

        Examples
        --------
        >>> from glassloom import Client, config
        >>> with config.set({"cluster.print-task-output": False}), Client(n_workers=1, threads_per_worker=1) as client:
        ...     client.submit(print, "hello").result()
        ...     list(client.get_worker_logs().values())
        [[('stdout', 'hello')]]
        """
        if n is not None and (not isinstance(n, int) or n < 0):
            raise OptionError(f"n={n!r} should be a number of lines, 0 or more, or None for all that are kept")
        if isinstance(workers, str):
            raise OptionError(f"workers={workers!r} should be a list of names")
        return self._run(
            self._get_worker_logs(n, None if workers is None else [checked_name("workers", each) for each in workers])
        )

    def _get_worker_logs(self, n: int | None, workers: list[str] | None) -> Operation[dict[str, list[tuple[str, str]]]]:
        logs: messages.WorkerLogs = yield from self._connection.ask(
            lambda request: messages.GetWorkerLogs(request, n, workers), "what tasks have printed"
        )
        return logs.lines

    def run_on_head(
        self, function: Callable[..., Any], /, *args: Any, timeout: float | str | timedelta = 10.0, **kwargs: Any
    ) -> Any:
        """Call a function on a snapshot of the cluster's head, to look at its state; return the result, up to 16 MiB.

        It runs in a fork of the head, which has a copy of its memory and none of its connections: it can change nothing, and
        is ended when its time is over.

        Parameters
        ----------
        function
            If it has a parameter ``head`` it gets a `glassloom.head.inspection.HeadSnapshot` there.
        timeout
            Seconds that it may take, or text such as ``"2 min"``.

        Raises
        ------
        TimeoutError
            If there is no result in time.
        ClusterError
            If the function ends its process, or its result is too large.
        Exception
            What the function raised.

        Examples
        --------
        >>> from glassloom import Client
        >>> with Client(n_workers=2, threads_per_worker=1) as client:
        ...     client.run_on_head(lambda head: len(head.scheduler.workers))
        2
        """
        timeout_s = parse_seconds("timeout", timeout) or 0.0
        return self._run(self._run_on_head(dumps((function, args, kwargs)), timeout_s))

    def _run_on_head(self, call: bytes, timeout_s: float) -> Operation[Any]:
        answer: messages.RanOnHead = yield from self._connection.ask(
            lambda request: messages.RunOnHead(request, call, timeout_s), "run_on_head()", waits_for_work=True
        )
        if answer.failure is not None:
            raise failure.harmless(failure.restore(answer.failure))
        if answer.result is None:
            raise (TimeoutError if answer.timed_out else ClusterError)(f"run_on_head: {answer.reason}")
        return loads(answer.result)


def chosen_workers(values: dict[str, T], workers: Iterable[str] | None) -> dict[str, T]:
    """Return what is known of the workers of these names; None: of all.

    Raises
    ------
    OptionError
        If there is no worker of a name.
    """
    if workers is None:
        return values
    names = [workers] if isinstance(workers, str) else list(workers)
    unknown = [name for name in names if name not in values]
    if unknown:
        there = ", ".join(map(repr, values)) or "none"
        raise OptionError(f"workers={names!r}: there is no worker {unknown[0]!r}; there are: {there}")
    return {name: values[name] for name in names}
