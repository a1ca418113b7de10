"""Our messages as calls of dask.distributed: what a head of ours would do and answer. Called in threads that may wait."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol

import distributed

from glassloom import config
from glassloom.client.key_table import KeyState
from glassloom.client.workers import uploaded_file
from glassloom.distributed import remote_datasets
from glassloom.distributed.bounded_calls import bounded
from glassloom.distributed.connecting import scheduler_of, workers_told_of
from glassloom.distributed.missing_modules import named, naming_missing_modules
from glassloom.distributed.remote_names import WorkerNumbers
from glassloom.errors import ClusterError
from glassloom.graph import Key
from glassloom.protocol import failure, messages
from glassloom.protocol.coordination import Op, Outcome
from glassloom.store.pickling import dumps, loads


class Remote(Protocol):
    """What these functions need of a link."""

    dask: distributed.Client
    numbers: WorkerNumbers

    def future_of(self, key: Key) -> distributed.Future | None: ...
    def future_of_other(self, key: Key) -> distributed.Future: ...
    def adopt(self, futures: Any, origins: Any = None) -> None: ...
    def forget_all(self) -> None: ...
    def note_placed(self, keys: Sequence[Key]) -> None: ...
    def waited(self, start: Callable[[], Awaitable[Any]], what: str) -> Any: ...
    @property
    def hold(self) -> Callable[[Key], KeyState]: ...


_INSTEAD: Mapping[type, str] = {
    messages.RunOnHead: "use client.run_on_scheduler(function) of distributed.Client",
    messages.GetStory: "use client.story(key) of distributed.Client",
    messages.GetProcessing: "use client.processing() or client.call_stack() of distributed.Client",
    messages.Coordinate: "use distributed.Lock, Event, Queue, Variable and Semaphore",
    messages.Withdraw: "use distributed.Lock, Event, Queue, Variable and Semaphore",
}


_CALLED: Mapping[type, str] = {
    messages.RunOnHead: "run_on_head()",
    messages.GetStory: "story()",
    messages.GetProcessing: "what runs, processing() and call_stack(),",
    messages.Coordinate: "what is agreed on by name",
    messages.Withdraw: "what is agreed on by name",
}


def refused(what: str, instead: str) -> ClusterError:
    """Return the error of what such a cluster can't do."""
    return ClusterError(f"{what} isn't there on a cluster of dask.distributed; {instead}")


def _refusal(message: messages.FromClient) -> ClusterError:
    kind = type(message)
    return refused(_CALLED.get(kind, kind.__name__), _INSTEAD.get(kind, "use its own client"))


# Messages without an answer


def obey(link: Remote, message: messages.FromClient, states: Sequence[KeyState]) -> None:
    """Do what a message says."""
    match message:
        case messages.Scatter():
            _scatter(link, message, states)
        case messages.Retry():
            again = _known(link, message.keys)
            link.waited(lambda: link.dask.retry(again, asynchronous=True), "tasks to run again")
            link.adopt(zip(message.keys, _known(link, message.keys), states, strict=True))
        case messages.Attach():
            futures = [link.future_of_other(key) for key in message.keys]
            link.adopt(zip(message.keys, futures, states, strict=True))
        case messages.FireAndForget():
            distributed.fire_and_forget(_known(link, message.keys))
        case messages.Claim() | messages.ReportLost():
            pass
        case messages.Shutdown():
            bounded(link.dask.shutdown, config.get("timeouts.request"))
        case _:
            raise _refusal(message)


def _known(link: Remote, keys: Sequence[Key]) -> list[distributed.Future]:
    return [future for key in keys if (future := link.future_of(key)) is not None]


def _scatter(link: Remote, message: messages.Scatter, states: Sequence[KeyState]) -> None:
    placed: list[Any] = list(message.locations)
    values = {key: place.value for key, place in zip(message.keys, placed, strict=True)}
    workers, broadcast = placed[0].workers, placed[0].broadcast
    with naming_missing_modules(link.dask):
        futures: dict[Any, Any] = link.waited(
            lambda: link.dask.scatter(values, workers=workers, broadcast=broadcast, hash=False, asynchronous=True),
            "values to be scattered",
        )
    link.adopt([(key, futures[key], state) for key, state in zip(message.keys, states, strict=True)])
    link.note_placed(message.keys)


# Questions


def answer(link: Remote, message: messages.FromClient) -> Any:
    """Return what a head of ours would answer."""
    dask = link.dask
    match message:
        case messages.GetInfo():
            return info_of(dask, link.numbers, message.request)
        case messages.Ping():
            return messages.Ack(message.request)
        case messages.RunOnWorkers():
            return _run_on_workers(link, message)
        case messages.Restart():
            dask.restart()
            link.forget_all()
            return messages.Ack(message.request)
        case messages.Retire():
            dask.retire_workers(_addresses(link, message.workers))
            return messages.Ack(message.request)
        case messages.WhoHas():
            return _holdings(dask, message)
        case messages.GetWorkerLogs():
            return _worker_logs(dask, message)
    raise _refusal(message)


def agree(link: Remote, op: Op) -> tuple[Outcome, list[KeyState]]:
    """Return what came of a request to a coordinator: see `remote_datasets`."""
    return remote_datasets.agree(link, op, lambda: refused("what is agreed on by name", _INSTEAD[messages.Coordinate]))


def info_of(dask: distributed.Client, numbers: WorkerNumbers, request: int) -> messages.Info:
    """Return how the workers are, in the order of their addresses."""
    workers = workers_told_of(dask)
    described = [_worker_info(number, address, workers[address]) for address, number in numbers.of(workers).items()]
    return messages.Info(request, described, {}, len(described), False)


def _worker_info(number: int, address: str, worker: Mapping[str, Any]) -> messages.WorkerInfo:
    metrics = worker.get("metrics", {})
    spilled = metrics.get("spilled_bytes", {})
    return messages.WorkerInfo(
        number=number,
        name=address,
        pid=0,
        nthreads=worker["nthreads"],
        memory_limit_bytes=worker.get("memory_limit") or None,
        rss_bytes=int(metrics.get("memory", 0)),
        managed_bytes=int(metrics.get("managed_bytes", 0)),
        spilled_bytes=int(spilled.get("disk", 0)) if isinstance(spilled, Mapping) else 0,
        shared_bytes=0,
        cpu_percent=float(metrics.get("cpu", 0.0)),
        running=int(metrics.get("task_counts", {}).get("executing", 0)),
        has=int(metrics.get("task_counts", {}).get("memory", 0)),
        pressure="paused" if worker.get("status") == "paused" else "none",
        resources={name: float(amount) for name, amount in worker.get("resources", {}).items()},
    )


def _addresses(link: Remote, numbers: Sequence[int] | None) -> list[str] | None:
    if numbers is None:
        return None
    names = {worker.number: worker.name for worker in info_of(link.dask, link.numbers, 0).workers}
    return [names[number] for number in numbers if number in names]


def _run_on_workers(link: Remote, message: messages.RunOnWorkers) -> messages.RanOnWorkers:
    dask = link.dask
    if message.forgets:
        raise refused("a plugin", "use client.register_plugin(plugin) of distributed.Client")
    function, args, kwargs = loads(message.call)
    file = uploaded_file(function)
    if message.setup and file is not None:
        dask.upload_file(file)  # to the scheduler too, which loads graphs
        return messages.RanOnWorkers(message.request, [], [])
    if message.setup:
        dask.register_worker_callbacks(setup=lambda: function(*args, **kwargs))
        return messages.RanOnWorkers(message.request, [], [])
    found = dask.run(function, *args, workers=_addresses(link, message.workers), on_error="return", **kwargs)
    results = [
        _failure(named(each, f"worker {worker}")) if isinstance(each, BaseException) else dumps(each)
        for worker, each in found.items()
    ]
    return messages.RanOnWorkers(message.request, list(found), results)


def _failure(error: BaseException) -> failure.Failure:
    try:
        raise error
    except BaseException as raised:  # what the user's function has raised over there
        return failure.describe(raised)


def _holdings(dask: distributed.Client, message: messages.WhoHas) -> messages.Holdings:
    places = dask.sync(scheduler_of(dask).who_has, keys=message.keys)
    sizes = dask.nbytes(summary=False)
    rows = [(key, sizes.get(key, 0), worker) for key, workers in places.items() for worker in workers]
    keys, nbytes, workers = map(list, zip(*rows, strict=True)) if rows else ([], [], [])
    return messages.Holdings(message.request, keys, nbytes, workers)


def _worker_logs(dask: distributed.Client, message: messages.GetWorkerLogs) -> messages.WorkerLogs:
    logs = dask.get_worker_logs(n=message.n, workers=message.workers)
    lines = {worker: [(level.lower(), text) for level, text in reversed(told)] for worker, told in logs.items()}
    return messages.WorkerLogs(message.request, lines)
