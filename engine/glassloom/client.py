"""`Client`: runs tasks and collections on a cluster."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, Self

from glassloom_metrics.errors import ClusterNotFound as _NoRecord
from glassloom_metrics.registry import ClusterRecord, find_record

from glassloom.cluster.local import LocalCluster
from glassloom.collection import compute, persist
from glassloom.collector import paused_collector
from glassloom.datasets import NO_DEFAULT, Datasets, fetch, names, publish, unpublish
from glassloom.errors import ClusterClosed, ClusterError, ClusterNotFound, OptionError
from glassloom.futures import Future, futures_of, raise_unless_finished, settled
from glassloom.graph import Graph, Key, Task, tokenize, user_origin
from glassloom.graph.keys import key_layer
from glassloom.reprs import render
from glassloom.runtime import failure, messages, uploads
from glassloom.runtime.calls import CallEncoder
from glassloom.runtime.connection import ERROR, FINISHED, Connection
from glassloom.runtime.default import current, set_current, unset_current
from glassloom.runtime.failure import Failure
from glassloom.runtime.identity import jupyter_base_url
from glassloom.runtime.inside import task_thread
from glassloom.runtime.waiting import Steps, block, carry_on
from glassloom.store.pickling import dumps, loads
from glassloom.store.segment import SegmentWriter, read_location
from glassloom.units import format_bytes, parse_seconds


class Client:
    """Runs tasks and collections on a cluster, and holds its results.

    While a client is open, ``compute()`` and ``persist()`` of all collections run on its cluster.

    Parameters
    ----------
    address
        A `LocalCluster`, or the name or id of a running cluster of this user. None: start a `LocalCluster` with the
        other options, which ends when the client is closed.
    n_workers, threads_per_worker, memory_limit, name, local_directory, spill_compression, env
        As in `LocalCluster`, and so are the next four.
    memory_target_fraction, memory_spill_fraction, memory_pause_fraction, memory_terminate_fraction
        As in `LocalCluster`.
    asynchronous
        Whether to use it in an event loop: ``async with Client(asynchronous=True) as client``, or
        ``client = await Client(asynchronous=True)``. Methods that wait (`gather`, `Future.result`, `close`...) then
        return something to await; `compute()` of a collection still blocks: ``await client.compute(x)`` doesn't.
    set_as_default
        Whether collections run here unless told otherwise.

    Raises
    ------
    ClusterNotFound
        If no cluster of that name runs; the message lists those that do.
    OptionError, ClusterStartError
        As `LocalCluster`.

    Examples
    --------
    >>> from glassloom import Client
    >>> with Client(n_workers=1, threads_per_worker=2) as client:
    ...     futures = client.map(abs, [-1, -2])
    ...     client.gather(futures)
    [1, 2]
    """

    def __init__(
        self,
        address: LocalCluster | ClusterRecord | str | None = None,
        *,
        n_workers: int | None = None,
        threads_per_worker: int | None = None,
        memory_limit: int | float | str | None = "auto",
        name: str | None = None,
        local_directory: str | None = None,
        memory_target_fraction: float | None = 0.6,
        memory_spill_fraction: float | None = 0.7,
        memory_pause_fraction: float | None = 0.8,
        memory_terminate_fraction: float | None = 0.95,
        spill_compression: str | None = None,
        env: Mapping[str, str] | None = None,
        asynchronous: bool = False,
        set_as_default: bool = True,
    ) -> None:
        self.asynchronous = asynchronous
        self.cluster: LocalCluster | None = address if isinstance(address, LocalCluster) else None
        self._own_cluster: LocalCluster | None = None
        self._record: ClusterRecord
        self._link: Connection | None = None

        def start_cluster() -> LocalCluster:
            return LocalCluster(
                n_workers,
                threads_per_worker,
                memory_limit,
                name=name,
                local_directory=local_directory,
                memory_target_fraction=memory_target_fraction,
                memory_spill_fraction=memory_spill_fraction,
                memory_pause_fraction=memory_pause_fraction,
                memory_terminate_fraction=memory_terminate_fraction,
                spill_compression=spill_compression,
                env=env,
            )

        self._open = partial(self._connect, address, start_cluster, set_as_default)
        if not asynchronous:
            self._open()

    def _connect(
        self,
        address: LocalCluster | ClusterRecord | str | None,
        start_cluster: Callable[[], LocalCluster],
        set_as_default: bool,
    ) -> None:
        if address is None:
            self._own_cluster = self.cluster = start_cluster()
            self._record = self.cluster.record
        elif isinstance(address, LocalCluster):
            self._record = address.record
        else:
            self._record = address if isinstance(address, ClusterRecord) else _find(address)
        try:
            self._link = Connection(self._record.socket, self._record.secret)
        except ClusterClosed:
            if self._own_cluster is not None:
                self._own_cluster.close()
            raise
        welcome = self._link.welcome
        self._segments = SegmentWriter(welcome.shm_prefix, welcome.directory, f"c{welcome.client}")
        if set_as_default:
            set_current(self)

    @property
    def _connection(self) -> Connection:
        if self._link is None:
            raise ClusterClosed("this asynchronous client isn't connected yet: use `async with`, or `await` it first")
        return self._link

    # Calls

    def submit(
        self,
        func: Callable[..., Any],
        /,
        *args: Any,
        key: str | None = None,
        pure: bool = True,
        priority: int = 0,
        retries: int = 0,
        actor: bool = False,
        **kwargs: Any,
    ) -> Future:
        """Call a function on the cluster; return the future of its result at once.

        Parameters
        ----------
        args, kwargs
            Its arguments. Futures among them, also inside lists, tuples and dicts, stand for their results.
        key
            What to call the task; default the function's name and a token of the arguments.
        pure
            Whether an equal call has an equal result, so that it need not be made twice.
        priority
            Larger goes first.
        retries
            How often to try again if it raises.
        actor
            For users of Dask: there are no actors here, so True is an error that names what there is.

        Raises
        ------
        TypeError
            If `func` can't be called.
        SerialisationError
            If the function or an argument can't be sent to another process.
        OptionError
            If `key`, `priority` or `retries` can't be what it is.
        """
        _refuse_actors(actor)
        (future,) = self._submit_all(func, [(args, kwargs)], [key], pure=pure, priority=priority, retries=retries)
        return future

    def map(
        self,
        func: Callable[..., Any],
        /,
        *iterables: Iterable[Any],
        key: str | Sequence[str] | None = None,
        pure: bool = True,
        priority: int = 0,
        retries: int = 0,
        actor: bool = False,
        **kwargs: Any,
    ) -> list[Future]:
        """Call a function on each element (or on the elements of several iterables together); return the futures.

        Parameters
        ----------
        key
            The tasks' common name, or one key for each.
        kwargs
            The same for every call.
        """
        _refuse_actors(actor)
        calls = [(args, kwargs) for args in zip(*iterables, strict=False)]
        if isinstance(key, str) or key is None:
            keys: list[str | None] = [None if key is None else f"{key}-{number}" for number in range(len(calls))]
        elif len(key) == len(calls):
            keys = list(key)
        else:
            raise ValueError(f"key has {len(key)} elements for {len(calls)} calls")
        return self._submit_all(func, calls, keys, pure=pure, priority=priority, retries=retries)

    def _submit_all(
        self,
        func: Callable[..., Any],
        calls: list[tuple[tuple[Any, ...], dict[str, Any]]],
        keys: Sequence[str | None],
        *,
        pure: bool,
        priority: int,
        retries: int,
    ) -> list[Future]:
        if not callable(func):
            raise TypeError(f"func={func!r} can't be called; to send a value, use scatter()")
        _check_whole_number("priority", priority)
        _check_whole_number("retries", retries, least=0)
        label = _label(func)
        function_token = tokenize(func) if pure else ""
        graph = Graph()
        origin = user_origin()
        chosen: list[Key] = []
        for (args, kwargs), key in zip(calls, keys, strict=True):
            if key is None:
                token = tokenize(function_token, _keyed(args), _keyed(kwargs)) if pure else uuid.uuid4().hex
                key = f"{label}-{token}"
            else:
                _check_key(key)
            chosen.append(key)
            graph.tasks.setdefault(key, Task(key, func, args, kwargs or None))
            if origin is not None:
                graph.origins[key_layer(key)] = origin
        return self._hold(graph, chosen, priority=priority, retries=retries)

    # Results

    def gather(self, futures: Any, errors: str = "raise") -> Any:
        """Wait for futures and return their results in the same nesting of lists, tuples, sets and dicts.

        Parameters
        ----------
        errors
            ``"raise"`` the first task's exception, or ``"skip"`` failed futures in lists.

        Raises
        ------
        Exception
            As `Future.result`.
        """
        if errors not in ("raise", "skip"):
            raise OptionError(f"errors={errors!r} should be 'raise' or 'skip'")
        found: list[Future] = []
        _collect(futures, found)
        return self._run(self._gather(futures, found, errors))

    def _gather(self, futures: Any, found: list[Future], errors: str) -> Steps[Any]:
        pending = [future for future in found if not future.done()]
        if pending:
            yield from settled(pending, None, len(pending))
        usable = [future for future in found if errors == "raise" or future.status == FINISHED]
        for future in usable:
            raise_unless_finished(future)
        unique = list(dict.fromkeys(future.key for future in usable))
        results = yield from self._fetch(unique)
        return _put_results(futures, dict(zip(unique, results, strict=True)), errors)

    def scatter(self, data: Any, broadcast: bool = False, hash: bool = True) -> Any:
        """Put values into the cluster's shared memory, once, where every worker reads them without a copy.

        Parameters
        ----------
        data
            A value, a list of values, or a dict of them.
        broadcast
            Accepted for compatibility: on one machine every worker can reach the value anyway.
        hash
            Whether equal values are stored only once.

        Returns
        -------
        Future, list of Future or dict of Future
        """
        if isinstance(data, dict):
            return dict(zip(data, self._scatter([*data.values()], hash), strict=True))
        if isinstance(data, (list, tuple, set)):
            return type(data)(self._scatter(list(data), hash))
        return self._scatter([data], hash)[0]

    def compute(self, collections: Any, *more: Any, sync: bool = False) -> Any:
        """Start collections; return futures of their concrete results.

        Parameters
        ----------
        collections
            A collection, or a list, tuple or dict of them.
        sync
            Wait, and return the results themselves.
        """
        args = (collections, *more)
        if sync:
            results = compute(*args, scheduler=self)
            return results if more else results[0]
        futures = tuple(_assembled(self, arg) for arg in args)
        return futures if more else futures[0]

    def persist(self, collections: Any, *more: Any) -> Any:
        """Start collections; return equal ones whose blocks stay on the cluster."""
        results = persist(collections, *more, scheduler=self)
        return results if more else results[0]

    def cancel(self, futures: Any, force: bool = False) -> None:
        """Give tasks up, with all that depends on them. Those that are running run to their end, unheard.

        Parameters
        ----------
        futures
            Futures, or persisted collections, alone or in a list.
        force
            Whether to give them up even if others want them: another client, or a variable, queue or dataset. Without it
            only this client lets go of such tasks.
        """
        self._connection.send(messages.Cancel([future.key for future in futures_of(futures)], force))

    def retry(self, futures: Any) -> None:
        """Try failed tasks again, with the failed tasks that they depend on. Others stay as they are.

        Parameters
        ----------
        futures
            Futures, or persisted collections, alone or in a list.
        """
        failed = [future.key for future in futures_of(futures) if future.status == ERROR]
        with self._connection.lock:
            self._connection.mark_pending(failed)
            self._connection.send(messages.Retry(failed))

    def run(
        self, function: Callable[..., Any], /, *args: Any, workers: Sequence[int] | None = None, **kwargs: Any
    ) -> Any:
        """Call a function on every worker, beside the tasks; return its results by worker name.

        Parameters
        ----------
        workers
            Numbers of the workers; default all.
        """
        call = dumps((function, args, kwargs))
        chosen = None if workers is None else list(workers)
        for number in chosen or ():
            _check_whole_number("workers", number, least=0)
        return self._run(self._run_on_workers(call, chosen))

    def _run_on_workers(self, call: bytes, chosen: list[int] | None, setup: str = "") -> Steps[dict[str, Any]]:
        answer: messages.RanOnWorkers = yield from self._connection.ask(
            lambda request: messages.RunOnWorkers(request, call, chosen, setup)
        )
        for result in answer.results:
            if isinstance(result, Failure):
                raise failure.harmless(failure.restore(result))
        results = [loads(result) for result in answer.results if isinstance(result, bytes)]
        return dict(zip(answer.workers, results, strict=True))

    def register_worker_callbacks(self, setup: Callable[[], Any]) -> Any:
        """Call a function on every worker, and on those that come later before their first task; return the results.

        What it raises on a later worker is written to the cluster's log, and the worker works all the same.
        """
        return self._run(self._set_up(setup, name=f"setup-{tokenize(setup)}"))

    def upload_file(self, filename: str | Path) -> Any:
        """Make a file of code importable on all workers, those that come later included; return the module's names.

        Modules of these names are imported anew: tasks that were submitted already but haven't begun see the new ones too.

        Parameters
        ----------
        filename
            A ``.py`` file, or a ``.zip`` or ``.egg`` of modules and packages.

        Raises
        ------
        OptionError
            If it is no such file.
        Exception
            What importing the modules raised.
        """
        path = uploads.store(filename, self._connection.welcome.directory)
        return self._run(self._upload(path))

    def _upload(self, path: Path) -> Steps[list[str]]:
        modules = yield from self._set_up(partial(uploads.install, str(path)), name=f"upload-{path.name}")
        return next(iter(modules.values()), [])

    def _set_up(self, function: Callable[[], Any], name: str) -> Steps[dict[str, Any]]:
        return (yield from self._run_on_workers(dumps((function, (), {})), None, name))

    def run_on_head(
        self, function: Callable[..., Any], /, *args: Any, timeout: float | str | timedelta = 10.0, **kwargs: Any
    ) -> Any:
        """Call a function on a snapshot of the cluster's head, to look at its state; return the result, up to 16 MiB.

        It runs in a fork of the head, which has a copy of its memory and none of its connections: it can change nothing, and
        is ended when its time is over.

        Parameters
        ----------
        function
            If it has a parameter ``head`` it gets a `glassloom.runtime.inspection.HeadSnapshot` there.
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

    def _run_on_head(self, call: bytes, timeout_s: float) -> Steps[Any]:
        answer: messages.RanOnHead = yield from self._connection.ask(
            lambda request: messages.RunOnHead(request, call, timeout_s)
        )
        if answer.failure is not None:
            raise failure.harmless(failure.restore(answer.failure))
        if answer.result is None:
            raise (TimeoutError if answer.timed_out else ClusterError)(f"run_on_head: {answer.reason}")
        return loads(answer.result)

    # The runtime that collections use

    def get(self, graph: Graph, keys: Sequence[Key]) -> list[Any]:
        """Run a graph and return the results of `keys`. Ctrl-C cancels it and leaves the cluster usable."""
        futures = self._hold(graph, keys)
        try:
            return list(block(self._gather(futures, futures, "raise")))
        except BaseException as error:
            if not isinstance(error, ClusterClosed) and not self._connection.closed_because:
                self.cancel([future for future in futures if not future.done()])
            raise

    def hold(self, graph: Graph, keys: Sequence[Key]) -> Mapping[Key, Future]:
        """Start a graph and return the futures of `keys`."""
        return dict(zip(keys, self._hold(graph, keys), strict=True))

    def _hold(self, graph: Graph, keys: Sequence[Key], *, priority: int = 0, retries: int = 0) -> list[Future]:
        self._connection.check_open()
        large: list[Future] = []

        def place_large(value: Any) -> Key:
            large.extend(self._scatter([value], False))
            return large[-1].key

        with paused_collector():
            message = CallEncoder(place_large).encode(graph, keys, priority=_in_place(priority), retries=retries)
        with self._connection.lock:
            futures = [Future(key, self) for key in keys]
            self._connection.mark_pending(keys)
            self._connection.send(message)
        return futures

    def _scatter(self, values: list[Any], hash: bool) -> list[Future]:
        self._connection.check_open()
        keys: list[Key] = [
            f"{type(value).__name__}-{tokenize(value) if hash else uuid.uuid4().hex}" for value in values
        ]
        placed = [self._segments.place(value) for value in values]
        sizes = [len(place) if isinstance(place, bytes) else place.nbytes for place in placed]
        with self._connection.lock:
            futures = [Future(key, self) for key in keys]
            self._connection.send(messages.Scatter(keys, placed, sizes))
        return futures

    def _fetch(self, keys: Sequence[Key]) -> Steps[list[Any]]:
        """Return the results of finished keys."""
        results: dict[Key, Any] = {}
        remote: list[Key] = []
        for key in keys:
            state = self._connection.state(key)
            if state is not None and state.status == ERROR and state.failure is not None:
                raise failure.harmless(failure.restore(state.failure))
            if state is not None and state.inline is not None:
                results[key] = loads(state.inline)
            else:
                remote.append(key)
        if remote:
            self._connection.check_open()
            locations = yield from self._connection.locate(remote)
            for key, location in zip(remote, locations, strict=True):
                if isinstance(location, Failure):
                    raise failure.harmless(failure.restore(location))
                results[key] = read_location(location)
        return [results[key] for key in keys]

    def _run(self, steps: Steps[Any]) -> Any:
        """Carry on what may have to wait: in this thread, or, for an asynchronous client, in whoever awaits it."""
        return carry_on(steps) if self.asynchronous else block(steps)

    # The cluster

    def scheduler_info(self) -> Any:
        """Return the cluster's workers and the number of tasks in each state, as plain values."""
        return self._run(self._scheduler_info())

    def _scheduler_info(self) -> Steps[dict[str, Any]]:
        info: messages.Info = yield from self._connection.ask(messages.Inform)
        workers = {
            worker.name: {
                "number": worker.number,
                "pid": worker.pid,
                "nthreads": worker.nthreads,
                "memory_limit": worker.memory_limit_bytes,
                "rss": worker.rss_bytes,
                "managed": worker.managed_bytes,
                "shared": worker.shared_bytes,
                "spilled": worker.spilled_bytes,
                "baseline": worker.baseline_bytes,
                "unmanaged": worker.unmanaged_bytes,
                "pressure": worker.pressure,
                "cpu_percent": worker.cpu_percent,
                "running": worker.running,
                "has": worker.has,
            }
            for worker in info.workers
        }
        return {"id": self.id, "name": self.name, "workers": workers, "tasks": dict(info.tasks)}

    def ncores(self) -> Any:
        """Return the number of threads of each worker."""
        return self._run(self._ncores())

    def _ncores(self) -> Steps[dict[str, int]]:
        info = yield from self._scheduler_info()
        return {name: worker["nthreads"] for name, worker in info["workers"].items()}

    nthreads = ncores

    def who_has(self, futures: Any = None) -> Any:
        """Return, for each held result, the workers that hold it; an empty list: it is in shared memory, for all.

        Parameters
        ----------
        futures
            Futures or a persisted collection; None: all results of the cluster.
        """
        return self._run(self._who_has(futures))

    def has_what(self) -> Any:
        """Return, for each worker, the keys of the results that only it holds."""
        return self._run(self._has_what())

    def nbytes(self, futures: Any = None) -> Any:
        """Return the size in bytes of each held result."""
        return self._run(self._nbytes(futures))

    def _who_has(self, futures: Any) -> Steps[dict[Key, list[str]]]:
        holdings = yield from self._holdings(futures)
        places = zip(holdings.keys, holdings.workers, strict=True)
        return {key: [] if worker is None else [worker] for key, worker in places}

    def _has_what(self) -> Steps[dict[str, list[Key]]]:
        found: dict[str, list[Key]] = {name: [] for name in (yield from self._ncores())}
        for key, workers in (yield from self._who_has(None)).items():
            for worker in workers:
                found.setdefault(worker, []).append(key)
        return found

    def _nbytes(self, futures: Any) -> Steps[dict[Key, int]]:
        holdings = yield from self._holdings(futures)
        return dict(zip(holdings.keys, holdings.nbytes, strict=True))

    def _holdings(self, futures: Any) -> Steps[messages.Holdings]:
        keys = None if futures is None else [future.key for future in futures_of(futures)]
        holdings: messages.Holdings = yield from self._connection.ask(lambda request: messages.WhoHas(request, keys))
        return holdings

    def retire_workers(self, workers: Sequence[int | str] | None = None, n: int | None = None) -> Any:
        """Let workers go, for good; returns their names when they are gone.

        They finish what they run, and their results move to shared memory first. `LocalCluster.scale` starts others.

        Parameters
        ----------
        workers
            Their names or numbers.
        n
            How many, if it doesn't matter which: those that hold least.

        Raises
        ------
        OptionError
            If neither is given, or both; if there is no such worker.
        """
        if (workers is None) == (n is None):
            raise OptionError("say which workers to retire, workers=[...], or how many, n=...")
        if n is not None:
            _check_whole_number("n", n, least=0)
        return self._run(self._retire_workers(workers, n))

    def _retire_workers(self, workers: Sequence[int | str] | None, n: int | None) -> Steps[list[str]]:
        info: messages.Info = yield from self._connection.ask(messages.Inform)
        if workers is None:
            chosen = sorted(info.workers, key=lambda worker: (worker.managed_bytes, -worker.number))[:n]
        else:
            by_name = {key: worker for worker in info.workers for key in (worker.number, worker.name)}
            unknown = [worker for worker in workers if worker not in by_name]
            if unknown:
                names = ", ".join(repr(worker.name) for worker in info.workers) or "none"
                raise OptionError(f"workers={workers!r}: there is no worker {unknown[0]!r}; there are: {names}")
            chosen = list({by_name[worker].number: by_name[worker] for worker in workers}.values())
        numbers = [worker.number for worker in chosen]
        yield from self._connection.ask(lambda request: messages.Retire(request, numbers))
        return [worker.name for worker in chosen]

    # Datasets

    def publish_dataset(self, *args: Any, name: str | None = None, override: bool = False, **datasets: Any) -> Any:
        """Let the cluster keep values by name, also when this client is gone; other clients get them by that name.

        Parameters
        ----------
        args
            One value, which goes by `name`.
        override
            Whether a dataset of the same name is replaced.
        datasets
            Values by name: persisted collections (their results are kept), lazy ones, futures, or others up to 4 MiB.

        Raises
        ------
        KeyError
            If there is a dataset of the name already.
        SerialisationError, OptionError
            If a value doesn't pickle, or is too large.

        Examples
        --------
        >>> from glassloom import Client
        >>> import glassloom.array as ga
        >>> with Client(n_workers=1, threads_per_worker=1) as client:
        ...     client.publish_dataset(squares=client.persist(ga.arange(4, chunks=2) ** 2))
        ...     client.list_datasets(), client.get_dataset("squares").sum().compute()
        (('squares',), np.int64(14))
        """
        if len(args) > 1 or (len(args) == 1) != (name is not None):
            raise OptionError("publish_dataset takes one value with name=..., or values by name: publish_dataset(x=x)")
        named = {**({name: args[0]} if name is not None else {}), **datasets}
        return self._run(publish(self, named, override=override))

    def get_dataset(self, name: str, default: Any = NO_DEFAULT) -> Any:
        """Return a dataset of the cluster.

        Raises
        ------
        KeyError
            If there is none of that name and no `default`; the message lists those there are.
        """
        return self._run(fetch(self, name, default))

    def unpublish_dataset(self, name: str) -> Any:
        """Let the cluster forget a dataset; its results go when nobody else holds them.

        Raises
        ------
        KeyError
            If there is none of that name.
        """
        return self._run(unpublish(self, name))

    def list_datasets(self) -> Any:
        """Return the names of the cluster's datasets."""
        return self._run(names(self))

    @property
    def datasets(self) -> Datasets:
        """The cluster's datasets, as a mapping by name."""
        return Datasets(self)

    def restart(self) -> Any:
        """Cancel all tasks, forget all results, and replace all workers; returns when the new ones are there."""
        return self._run(self._restart())

    def _restart(self) -> Steps[None]:
        yield from self._connection.ask(messages.Restart)

    @property
    def id(self) -> str:
        """The cluster's id."""
        return self._record.id

    @property
    def name(self) -> str:
        """The cluster's name; another process of this user connects with ``Client(name)``."""
        return self._record.name

    @property
    def status(self) -> str:
        """``"running"`` or ``"closed"``."""
        return "closed" if self._connection.closed_because else "running"

    @property
    def dashboard_link(self) -> str:
        """Where the cluster's status page is: a path on this notebook's Jupyter server, or the command that serves it."""
        base_url = jupyter_base_url()
        return f"{base_url}glassloom/dash/{self.id}/status" if base_url else "run: glassloom dashboard"

    def close(self) -> Any:
        """End the connection, and the cluster if this client started it. Its futures are lost."""
        return asyncio.to_thread(self._close) if self.asynchronous else self._close()

    def shutdown(self) -> Any:
        """End the cluster, whoever started it, and the connection."""
        return asyncio.to_thread(self._shutdown) if self.asynchronous else self._shutdown()

    def _close(self) -> None:
        unset_current(self)
        if self._link is not None:
            self._link.close("it was closed")
        if self._own_cluster is not None:
            self._own_cluster.close()

    def _shutdown(self) -> None:
        if not self._connection.closed_because:
            self._connection.send(messages.Shutdown())
        self._close()
        if self.cluster is not None:
            self.cluster.close()

    def __enter__(self) -> Self:
        if self.asynchronous:
            raise TypeError("this client is asynchronous: use `async with` instead of `with`")
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    async def __aenter__(self) -> Self:
        return await self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self._close)

    def __await__(self) -> Generator[Any, None, Self]:
        return self._opened().__await__()

    async def _opened(self) -> Self:
        if self._link is None:
            await asyncio.to_thread(self._open)
        return self

    def __reduce__(self) -> Any:
        raise TypeError("a Client can't be pickled; inside a task, get_client() returns one of its cluster")

    def __repr__(self) -> str:
        if self._link is None:
            return "<Client: asynchronous, not connected yet>"
        if self.status == "closed":
            return f"<Client: {self.name!r}, closed ({self._connection.closed_because})>"
        workers = block(self._scheduler_info())["workers"].values()
        return (
            f"<Client: {self.name!r}, workers={len(workers)}, threads={sum(w['nthreads'] for w in workers)}, "
            f"memory={_sum_limits(workers)}>"
        )

    def _repr_html_(self) -> str:
        workers: list[dict[str, Any]] = []
        if self.status == "running":
            info = block(self._scheduler_info())["workers"]
            workers = [{"name": name, **worker} for name, worker in info.items()]
        return render(
            "client.html.j2",
            id=self.id,
            name=self.name,
            status=self.status,
            reason=self._connection.closed_because,
            method=_connection_method(self),
            cluster_type="LocalCluster" if self._record.kind == "processes" else self._record.kind,
            link=self.dashboard_link,
            n_workers=len(workers),
            n_threads=sum(worker["nthreads"] for worker in workers),
            memory=_sum_limits(workers),
            workers=[
                (
                    worker["name"],
                    worker["pid"],
                    worker["nthreads"],
                    "no limit" if worker["memory_limit"] is None else format_bytes(worker["memory_limit"]),
                    format_bytes(worker["rss"]),
                    f"{worker['cpu_percent']:.0f} %",
                )
                for worker in workers
            ],
            pid=self._record.pid,
            socket=self._record.socket,
            directory=self._record.directory,
        )


def _find(name_or_id: Any) -> ClusterRecord:
    if not isinstance(name_or_id, str):
        raise OptionError(f"address={name_or_id!r} should be a LocalCluster, or the name or id of a running cluster")
    if "://" in name_or_id:
        raise OptionError(
            f"address={name_or_id!r}: clusters of dask.distributed are not supported yet; "
            "use a LocalCluster, or the name or id of a running Glassloom cluster"
        )
    try:
        record = find_record(name_or_id)
    except _NoRecord as error:
        raise ClusterNotFound(str(error)) from None
    if record.kind != "processes":
        raise ClusterNotFound(
            f"{name_or_id!r} is the thread pool of process {record.pid}; only that process can use it"
        )
    return record


def _check_whole_number(name: str, value: Any, least: int = -(2**31)) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value < 2**31:
        raise OptionError(f"{name}={value!r} should be a whole number" + (f", {least} or more" if least >= 0 else ""))


def _refuse_actors(actor: bool) -> None:
    if actor:
        raise OptionError(
            "actor=True: there are no actors here; keep what tasks share in a Variable or a Queue, or, what stays in one "
            "process, as an attribute of get_worker()"
        )


def _check_key(key: Any) -> None:
    parts = key if isinstance(key, tuple) and key else (key,)
    if not isinstance(parts[0], str) or not all(type(part) in (str, int) for part in parts):
        raise OptionError(f"key={key!r} should be text, or a tuple of text and whole numbers such as ('load', 3)")


def _in_place(priority: int) -> int:
    """Return the priority of what the calling task, if there is one, submits: it goes before what is beside the task."""
    thread = task_thread()
    return priority if thread is None else min(thread.priority + 1 + priority, 2**31 - 1)


def _label(func: Callable[..., Any]) -> str:
    name = getattr(func, "__name__", None) or type(func).__name__
    return "lambda" if name == "<lambda>" else str(name)


def _keyed(value: Any) -> Any:
    """Return `value` with futures replaced by something that stands for them in a token."""
    if isinstance(value, Future):
        return ("future", value.key)
    kind = type(value)
    if kind in (list, tuple, set):
        return kind(_keyed(item) for item in value)
    if kind is dict:
        return {name: _keyed(item) for name, item in value.items()}
    return value


def _collect(value: Any, found: list[Future]) -> None:
    if isinstance(value, Future):
        found.append(value)
    elif isinstance(value, dict):
        for item in value.values():
            _collect(item, found)
    elif isinstance(value, (list, tuple, set, frozenset)):
        for item in value:
            _collect(item, found)
    elif hasattr(value, "__next__"):
        raise TypeError(f"expected futures, got {type(value).__name__}; make a list of it first")


def _put_results(value: Any, results: dict[Key, Any], errors: str) -> Any:
    if isinstance(value, Future):
        return results[value.key]
    if isinstance(value, dict):
        return {name: _put_results(item, results, errors) for name, item in value.items() if _is_there(item, results)}
    if isinstance(value, (list, tuple, set, frozenset)):
        return type(value)(_put_results(item, results, errors) for item in value if _is_there(item, results))
    return value


def _is_there(value: Any, results: dict[Key, Any]) -> bool:
    return not isinstance(value, Future) or value.key in results


def _assembled(client: Client, value: Any) -> Any:
    """Return futures of the concrete results of the collections in `value`."""
    if isinstance(value, dict):
        return {name: _assembled(client, item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_assembled(client, item) for item in value)
    if not hasattr(value, "expr"):
        return value
    persisted = persist(value, scheduler=client)[0]
    held = list(persisted.expr.source.held.values())
    return client.submit(persisted.expr.assemble, held, pure=False)


def _sum_limits(workers: Iterable[dict[str, Any]]) -> str:
    limits = [worker["memory_limit"] for worker in workers]
    return "no limit" if not limits or None in limits else format_bytes(sum(limits))


def _connection_method(client: Client) -> str:
    if client._own_cluster is not None:
        return "Started this cluster"
    return "Cluster object" if client.cluster is not None else "Found by name"


def default_client() -> Client:
    """Return the client that collections run on.

    Raises
    ------
    ClusterClosed
        If there is none.
    """
    client = current()
    if not isinstance(client, Client):
        raise ClusterClosed("no client is open; make one with Client()")
    return client
