"""`Client`: runs tasks and collections on a cluster."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any, Self

from glassloom_metrics.registry import ClusterRecord

from glassloom._gc import gc_paused
from glassloom.client.addresses import cluster_of, default_address, is_remote, link_to, starter_of_new_cluster
from glassloom.client.call_stacks import CallStackMethods
from glassloom.client.cell_clients import replaced_client
from glassloom.client.dask_collections import dask_scheduler
from glassloom.client.dask_names import DaskNames
from glassloom.client.datasets import DatasetMethods
from glassloom.client.executor import ClientExecutor
from glassloom.client.function_calls import FunctionCalls, in_place
from glassloom.client.future import Future, by_connection, futures_of, send_for
from glassloom.client.graph_methods import GraphMethods
from glassloom.client.key_table import ERROR, KeyState
from glassloom.client.link import Link
from glassloom.client.open_clients import note_open
from glassloom.client.other_options import refuse_other_options
from glassloom.client.plugins import PluginMethods
from glassloom.client.profile_method import ProfileMethod
from glassloom.client.record_method import RecordMethod
from glassloom.client.repr_mixin import ReprMixin
from glassloom.client.scaling import ScalingMethods
from glassloom.client.story import StoryMethods
from glassloom.client.validation import check_iterables, refuse_actors
from glassloom.cluster.local import LocalCluster
from glassloom.cluster.options import ClusterOptions, Resources
from glassloom.config import Configured
from glassloom.distributed.optional import offer_joblib_backend
from glassloom.local.default import set_current, unset_current
from glassloom.protocol import messages
from glassloom.protocol.annotations import Annotations, current_annotations
from glassloom.protocol.merging import PlainTask

_END_OF_BLOCK = "its `with` block has ended"
_FEW = 100
"""Making so few futures doesn't start the garbage collector's long passes."""


class Client(
    GraphMethods,
    PluginMethods,
    StoryMethods,
    CallStackMethods,
    DatasetMethods,
    RecordMethod,
    ProfileMethod,
    ScalingMethods,
    DaskNames,
    ReprMixin,
):
    """Runs tasks and collections on a cluster, and holds its results.

    While a client is open, ``compute()`` and ``persist()`` of all collections run on its cluster.

    Parameters
    ----------
    address
        A `LocalCluster`, or the name or id of a running cluster of this user. Or a cluster of dask.distributed: the address
        of its scheduler (``"tcp://scheduler:8786"``), a `distributed.Client`, or a cluster object such as
        `distributed.LocalCluster`. None: the option ``client.address``, else start a `LocalCluster` with the other options,
        which ends when the client is closed.
    n_workers, threads_per_worker, memory_limit, name, local_directory, spill_compression, resources, env, idle_timeout, timeout
        As in `LocalCluster`, with the same defaults, and so are the next four: ``config.get(...)`` in the signature names
        the option of `glassloom.config` that is the default. Only for a cluster that this client starts.
    memory_target_fraction, memory_spill_fraction, memory_pause_fraction, memory_terminate_fraction
        As in `LocalCluster`.
    gpu
        Whether to start a `LocalCUDACluster` in place of a `LocalCluster`; its options can be given too.
    asynchronous
        Whether to use it in an event loop: ``async with Client(asynchronous=True) as client``, or
        ``client = await Client(asynchronous=True)``. Methods that wait (`gather`, `Future.result`, `close`...) then
        return something to await; `compute()` of a collection still blocks: ``await client.compute(x)`` doesn't.
    set_as_default
        Whether collections run here unless told otherwise. The newest such client is kept alive, so that a cell that says
        just ``Client()`` works; when a newer one takes its place, it and its cluster end unless something else, such as a
        variable or a future, refers to it. ``client = Client()`` run twice leaves one cluster.
    dask
        Whether Dask's collections run here too as long as the client is open, as after
        ``dask.config.set(scheduler=client.get)``. What Dask was set to before is set again when it closes.
    security
        A `distributed.Security`, for an address that begins with ``"tls://"``.
    others
        Options of Dask's and Ray's clients: an error says what there is instead.

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
        address: Any = None,
        *,
        n_workers: int | None | Configured = Configured("cluster.n-workers"),
        threads_per_worker: int | None | Configured = Configured("cluster.threads-per-worker"),
        memory_limit: int | float | str | None | Configured = Configured("cluster.memory-limit"),
        name: str | None = None,
        local_directory: str | None | Configured = Configured("cluster.local-directory"),
        memory_target_fraction: float | None | Configured = Configured("cluster.memory-target-fraction"),
        memory_spill_fraction: float | None | Configured = Configured("cluster.memory-spill-fraction"),
        memory_pause_fraction: float | None | Configured = Configured("cluster.memory-pause-fraction"),
        memory_terminate_fraction: float | None | Configured = Configured("cluster.memory-terminate-fraction"),
        spill_compression: str | None | Configured = Configured("cluster.spill-compression"),
        resources: Resources | None = None,
        env: Mapping[str, str] | None = None,
        idle_timeout: float | str | None | Configured = Configured("cluster.idle-timeout"),
        timeout: float | str | Configured = Configured("cluster.start-timeout"),
        gpu: bool = False,
        asynchronous: bool = False,
        set_as_default: bool = True,
        dask: bool = False,
        security: Any = None,
        **others: Any,
    ) -> None:
        given = ClusterOptions(
            n_workers=n_workers,
            threads_per_worker=threads_per_worker,
            memory_limit=memory_limit,
            name=name,
            local_directory=local_directory,
            memory_target_fraction=memory_target_fraction,
            memory_spill_fraction=memory_spill_fraction,
            memory_pause_fraction=memory_pause_fraction,
            memory_terminate_fraction=memory_terminate_fraction,
            spill_compression=spill_compression,
            resources=resources,
            env=env,
            idle_timeout=idle_timeout,
            timeout=timeout,
        )
        if address is None:
            address = default_address(given, gpu)
        if not is_remote(address):
            others["security"] = security
        self.asynchronous = asynchronous
        self.cluster: Any = cluster_of(address)
        self._security = security
        self._own_cluster: LocalCluster | None = None
        self._record: ClusterRecord
        self._link: Link | None = None

        self._serves_dask = dask
        self._leave_dask: Callable[[], object] = lambda: None
        """Lets Dask's collections run where they ran before."""
        self._opening = (address, starter_of_new_cluster(address, given, gpu, others), set_as_default)
        if not asynchronous:
            self._open(*self._opening)

    def _open(
        self,
        address: Any,
        start: Callable[[], LocalCluster] | None,
        set_as_default: bool,
    ) -> None:
        """Start the cluster if there is none, and connect. An error or interrupt leaves neither behind."""
        link: Link | None = None
        try:
            if start is not None:
                address = self._own_cluster = self.cluster = start()
            link = link_to(address.record if isinstance(address, LocalCluster) else address, self._security)
            link.open()
            self._record = link.record
            weakref.finalize(self, link.close_soon, "it was garbage collected").atexit = False
            self._link = link
            note_open(self)
            offer_joblib_backend()
            if set_as_default:
                set_current(self)
                self._replace_last_run()
            if self._serves_dask:
                self._leave_dask = weakref.finalize(self, dask_scheduler().set_scheduler(self))
        except BaseException:
            unset_current(self)
            if link is not None:
                link.close("it couldn't be opened")
            if self._own_cluster is not None:
                self._own_cluster.close()
            raise

    def _replace_last_run(self) -> None:
        """Close the client that the last run of the same notebook cell made, with its cluster."""
        before = None if self._own_cluster is None else replaced_client(self)
        if isinstance(before, Client):
            before._close("its cell was run again")  # `close` of an asynchronous client would have to be awaited

    # Calls

    def submit(
        self,
        func: Callable[..., Any],
        /,
        *args: Any,
        key: str | None = None,
        pure: bool = True,
        priority: int | None = None,
        retries: int | None = None,
        resources: Mapping[str, float] | None = None,
        workers: int | str | Sequence[int | str] | None = None,
        allow_other_workers: bool | None = None,
        actor: bool = False,
        actors: bool = False,
        fifo_timeout: Any = None,
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
        priority, retries, resources, workers, allow_other_workers
            How to treat it: see `glassloom.annotate`. By default as the block around says.
        actor, actors
            For users of Dask: there are no actors here, so True is an error that names what there is.
        fifo_timeout
            Accepted for compatibility: of one client's tasks of equal priority those go first that were submitted first.

        Raises
        ------
        TypeError
            If `func` can't be called.
        SerialisationError
            If the function or an argument can't be sent to another process.
        OptionError
            If `key` or one of those can't be what it is.
        """
        if actor or actors:
            refuse_actors(True)
        handling = current_annotations(
            priority=priority,
            retries=retries,
            resources=resources,
            workers=workers,
            allow_other_workers=allow_other_workers,
        )
        if not kwargs:
            connection = self._connection
            task = connection.quick_calls.task(func, args, key, in_place(handling), pure=pure)
            if task is not None:
                return self._submit_single(connection, task)
        calls = FunctionCalls.make(func, [args], kwargs, None if key is None else [key], pure=pure)
        return self._submit(calls, handling, "submit")[0]

    def _submit_single(self, connection: Link, task: PlainTask) -> Future:
        key = task[0]
        future = Future(key, self, connection.hold(key))
        try:
            connection.submit_single(task, future._state)
        except BaseException:
            future.release()  # a traceback may keep it
            raise
        return future

    def map(
        self,
        func: Callable[..., Any],
        /,
        *iterables: Iterable[Any],
        key: str | Sequence[str] | None = None,
        pure: bool = True,
        priority: int | None = None,
        retries: int | None = None,
        resources: Mapping[str, float] | None = None,
        workers: int | str | Sequence[int | str] | None = None,
        allow_other_workers: bool | None = None,
        actor: bool = False,
        actors: bool = False,
        fifo_timeout: Any = None,
        batch_size: int | None = None,
        **kwargs: Any,
    ) -> list[Future]:
        """Call a function on each element (or on the elements of several iterables together); return the futures.

        Parameters
        ----------
        key
            The tasks' common name, or one key for each.
        priority, retries, resources, workers, allow_other_workers, actor, actors, fifo_timeout
            As in `submit`.
        batch_size
            Accepted for compatibility: all calls are sent at once, in one message.
        kwargs
            The same for every call. Large ones are pickled and sent once, and shared by the tasks of a worker, which must
            not change them in place.

        Raises
        ------
        TypeError
            If there is no iterable, or one of them can't be iterated over.
        """
        refuse_actors(actor or actors)
        check_iterables(iterables)
        arguments = list(zip(*iterables, strict=False))
        if isinstance(key, str):
            key = [f"{key}-{number}" for number in range(len(arguments))]
        elif key is not None and len(key) != len(arguments):
            raise ValueError(f"key has {len(key)} elements for {len(arguments)} calls")
        handling = current_annotations(
            priority=priority,
            retries=retries,
            resources=resources,
            workers=workers,
            allow_other_workers=allow_other_workers,
        )
        return self._submit(FunctionCalls.make(func, arguments, kwargs, key, pure=pure), handling, "map")

    def _submit(self, calls: FunctionCalls, handling: Annotations, kind: str) -> list[Future]:
        tokens = {id(calls.function): calls.token} if calls.token else {}
        states: list[KeyState] = []
        try:
            self._start(lambda encoder: calls.encode(encoder, in_place(handling)), calls.keys, states, tokens, kind)
            with gc_paused() if len(states) > _FEW else nullcontext():
                return Future.of_states(calls.keys, states, self)
        finally:
            states.clear()  # a traceback may keep it

    def get_executor(
        self,
        *,
        priority: int | None = None,
        retries: int | None = None,
        resources: Mapping[str, float] | None = None,
        workers: int | str | Sequence[int | str] | None = None,
        allow_other_workers: bool | None = None,
    ) -> ClientExecutor:
        """Return this client as an executor of `concurrent.futures`, for code that takes one.

        Parameters
        ----------
        priority, retries, resources, workers, allow_other_workers
            How to treat what it submits: see `glassloom.annotate`.

        Examples
        --------
        >>> from concurrent.futures import as_completed
        >>> from glassloom import Client
        >>> with Client(n_workers=1, threads_per_worker=2) as client, client.get_executor() as executor:
        ...     sorted(future.result() for future in as_completed([executor.submit(pow, 2, 10), executor.submit(abs, -1)]))
        [1, 1024]
        """
        handling = current_annotations(
            priority=priority,
            retries=retries,
            resources=resources,
            workers=workers,
            allow_other_workers=allow_other_workers,
        )
        return ClientExecutor(self, handling)

    # Giving up and trying again

    def cancel(self, futures: Any, force: bool = False, **others: Any) -> None:
        """Cancel tasks, with all that depend on them. Running tasks cannot be interrupted; their results are discarded.

        Submitting a task again afterwards starts it anew, with a future of its own; the cancelled future stays cancelled.

        Parameters
        ----------
        futures
            Futures, or persisted collections, alone or in a list.
        force
            Whether to give them up even if others want them: another client, or a variable, queue or dataset. Without it
            only this client lets go of such tasks.
        others
            Options of Dask's client: an error says what there is instead.
        """
        refuse_other_options("cancel", others, ("futures", "force"))
        for connection, theirs in by_connection(futures_of(futures)).items():
            connection.cancel([future.key for future in theirs], [future._state for future in theirs], force=force)

    def cancel_all(self, *, force: bool = False) -> Any:
        """Give up all unfinished tasks; return how many. The workers stay, and so do results that are there already.

        Tasks that are running run to their end, unheard, as with `cancel`; workers whose tasks don't end are replaced. To
        let go of all results too, use `restart`.

        Parameters
        ----------
        force
            Whether to give up the tasks of all clients, and those that variables, queues, datasets and `fire_and_forget`
            want. Without it this client's tasks are given up that no one else wants.

        Examples
        --------
        >>> import time
        >>> from glassloom import Client
        >>> with Client(n_workers=1, threads_per_worker=1) as client:
        ...     futures = client.map(time.sleep, [0.1, 60, 61])
        ...     first = futures[0].result()
        ...     client.cancel_all()
        ...     [future.status for future in futures]
        2
        ['finished', 'cancelled', 'cancelled']
        """
        return self._run(self._connection.cancel_all(force=force))

    def retry(self, futures: Any) -> None:
        """Try failed tasks again, with the failed tasks that they depend on. Others stay as they are.

        Parameters
        ----------
        futures
            Futures, or persisted collections, alone or in a list.
        """
        failed = [future for future in futures_of(futures) if future.status == ERROR]
        for connection, theirs in by_connection(failed).items():
            send_for(connection, messages.Retry([future.key for future in theirs]), theirs)

    # Opening and closing

    def close(self) -> Any:
        """End the connection, and the cluster if this client started it. Its futures are lost."""
        return asyncio.to_thread(self._close) if self.asynchronous else self._close()

    def shutdown(self) -> Any:
        """End the cluster, whoever started it, and the connection."""
        return asyncio.to_thread(self._shutdown) if self.asynchronous else self._shutdown()

    def _close(self, reason: str = "client.close() was called") -> None:
        unset_current(self)
        self._leave_dask()
        if self._link is not None:
            self._link.close(reason)
        if self._own_cluster is not None:
            self._own_cluster.close()

    def _shutdown(self) -> None:
        self._connection.owner.require()
        if not self._connection.closed_because:
            self._connection.send(messages.Shutdown())
        self._close("client.shutdown() was called")
        if self.cluster is not None:
            self.cluster.close()

    def __enter__(self) -> Self:
        if self.asynchronous:
            raise TypeError("this client is asynchronous: use `async with` instead of `with`")
        return self

    def __exit__(self, *_: object) -> None:
        self._close(_END_OF_BLOCK)

    async def __aenter__(self) -> Self:
        return await self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self._close, _END_OF_BLOCK)

    def __await__(self) -> Generator[Any, None, Self]:
        return self._opened().__await__()

    async def _opened(self) -> Self:
        if self._link is None:
            await asyncio.to_thread(self._open, *self._opening)
        return self

    def __deepcopy__(self, _: Any) -> Self:
        """Return the client itself: Dask's configuration, which may hold `get`, is copied in many places."""
        return self

    def __reduce__(self) -> Any:
        raise TypeError(
            "a Client can't be pickled; inside a task, get_client() returns one of its cluster. If Dask's configuration is sent to "
            "other processes (as dask.distributed does to workers that it starts), set the client in it by Client(dask=True), not by "
            "scheduler=client.get"
        )
