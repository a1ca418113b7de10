"""`LocalCluster`: a head and worker processes on this machine, ended with the process that started them."""

from __future__ import annotations

import contextlib
import itertools
import os
import threading
import weakref
from collections import Counter
from collections.abc import Hashable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from glassloom_metrics.registry import read_records

from glassloom.client.blocking import run_sync
from glassloom.client.connection import Connection
from glassloom.cluster.head_process import HeadProcess
from glassloom.cluster.options import OPTION_NAMES, ClusterOptions, Resources, checked_adaptive, checked_count
from glassloom.cluster.other_names import ATTRIBUTES_INSTEAD, refuse_others
from glassloom.config import Configured
from glassloom.errors import ClusterClosed
from glassloom.protocol import messages
from glassloom.protocol.identity import status_page
from glassloom.protocol.options import HeadOptions
from glassloom.reprs import render
from glassloom.reprs.live_card import LiveCard
from glassloom.units import format_bytes


class LocalCluster:
    """A head process with workers on this machine.

    Parameters
    ----------
    n_workers
        Number of worker processes. Default: the option ``cluster.n-workers``, or else such that workers and threads divide
        the CPUs evenly. For this and all that follows, ``config.get(...)`` in the signature names the option of
        `glassloom.config` that is the default; ``glassloom.config.describe()`` shows what it is set to.
    threads_per_worker
        Threads of each worker. Default: ``cluster.threads-per-worker``, or else the CPUs divided among the workers.
    memory_limit
        Memory of each worker: bytes, text such as ``"4GB"``, a fraction up to 1.0 of the memory that there is,
        ``"auto"`` (its share by threads, and no more than ``ulimit`` allows a process) or None (no limit). Memory and
        CPUs are those that containers and batch systems allow: see `glassloom.sampling.limits`. Results that are
        shared between processes don't count. Default: ``cluster.memory-limit`` (``"auto"``).
    name
        What the panel and dashboards call it, and `Client` can connect to; default ``"local-<pid>"``, and
        ``"local-<pid>-2"`` for the second.
    local_directory
        Where the cluster's private directory is made; results are spilled there. Default: ``cluster.local-directory``,
        or else the system's for temporary files.
    memory_target_fraction
        Share of the memory limit that a worker's results may take before the least recently used go to disk. For this
        and the next three: above 0, up to 1, in rising order; None: never. Default: ``cluster.memory-target-fraction``
        (0.6).
    memory_spill_fraction
        Share that its process may take, as measured, before results go to disk although they are within the target.
        Default: ``cluster.memory-spill-fraction`` (0.7).
    memory_pause_fraction
        Share that its process may take, as measured, before it gets no more tasks. Default:
        ``cluster.memory-pause-fraction`` (0.8).
    memory_terminate_fraction
        Share that its process may take, as measured, before it is ended; its tasks run again, three times at most.
        Default: ``cluster.memory-terminate-fraction`` (0.95).
    spill_compression
        ``"lz4"`` or ``"zstd"`` to compress what goes to disk: worth it when the disk is slow or small. Default:
        ``cluster.spill-compression`` (None).
    resources
        What each worker has that tasks can ask for, such as ``{"GPU": 1}``: tasks that together would need more don't
        run on it at once. Only numbers; what they stand for is up to you. A list, such as ``[{"GPU": 1}, {}]``, says it for
        the first worker, the second and so on; a mapping by worker's number or name, such as ``{0: {"GPU": 1}}``, for
        those; workers that it doesn't mention, such as those that `scale` starts beyond it, have none. A worker that
        takes the place of another has its resources. Tasks find their worker's as ``get_worker().resources``.
    env
        Environment variables of the cluster's processes, besides this process's own; such as ``{"OMP_NUM_THREADS": "4"}``.
    idle_timeout
        How long the cluster may be idle before it ends by itself: seconds, or text such as ``"30 min"``; None: for ever. It is
        idle while no task waits or runs, no client holds a result, a failed task or a dataset (a `Future`, what `persist`
        gave, what was published or scattered), and no client asks it for anything or waits for it. A client that is only
        connected doesn't keep it. Clients are told why it ended. Default: ``cluster.idle-timeout`` (None).
    timeout
        How long the cluster may take to start: seconds, or text such as ``"2 min"``. Default: ``cluster.start-timeout``
        (60 s).
    detached
        Whether the cluster lives on when this process ends. Then it runs until it is shut down.
    started_by
        Who starts it, for the panel: ``"notebook"``, ``"script"`` or ``"panel"``. Default: found out.
    others
        Options of Dask's and Ray's clusters: an error says what there is instead.

    Raises
    ------
    OptionError
        If an option has no sense; the message says which and why.
    ClusterStartError
        If the head or its workers don't start.

    Examples
    --------
    >>> from glassloom import Client, LocalCluster
    >>> with LocalCluster(n_workers=1, threads_per_worker=1, memory_limit="1GB") as cluster, Client(cluster) as client:
    ...     client.submit(sum, [1, 2]).result()
    3
    """

    def __init__(
        self,
        n_workers: int | None | Configured = Configured("cluster.n-workers"),
        threads_per_worker: int | None | Configured = Configured("cluster.threads-per-worker"),
        memory_limit: int | float | str | None | Configured = Configured("cluster.memory-limit"),
        *,
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
        detached: bool = False,
        started_by: str | None = None,
        **others: Any,
    ) -> None:
        refuse_others(type(self).__name__, others, OPTION_NAMES)
        options = ClusterOptions(
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
            detached=detached,
            started_by=started_by,
        )
        self._start(options.resolved())

    def _start(self, chosen_options: ClusterOptions) -> None:
        """Start the head and its workers."""
        self.options = self._head_options(chosen_options, chosen_options.name or _free_name())
        self._connection: Connection | None = None
        self._connecting = threading.Lock()
        self._card: LiveCard | None = None
        self._head = HeadProcess(self.options, chosen_options.env or {}, chosen_options.timeout_s)
        self._finalizer = weakref.finalize(self, self._head.end)
        self.record = self._head.start()

    def _head_options(self, options: ClusterOptions, name: str) -> HeadOptions:
        """Return what the head is started with; clusters with devices add those."""
        return options.for_head(name)

    @property
    def name(self) -> str:
        """The cluster's name."""
        return (self._connection.workers.cluster_name if self._connection is not None else "") or self.record.name

    @property
    def id(self) -> str:
        """The cluster's id: what URLs and the registry call it."""
        return self.record.id

    @property
    def status(self) -> str:
        """``"running"`` or ``"closed"``."""
        return "running" if self._finalizer.alive and self._head.is_running else "closed"

    def scale(self, n: int) -> None:
        """Start or retire workers until there are `n`; returns when they are there, or gone.

        A retiring worker finishes what it runs, and its results move to shared memory first. Ends `adapt`.

        Raises
        ------
        OptionError
            If `n` is no number of workers.
        ClusterClosed
            If the cluster has ended.
        """
        n_workers = checked_count("n", n, 0)
        run_sync(
            self._connect().ask(lambda request: messages.Scale(request, n_workers), f"scale({n})", waits_for_work=True)
        )

    def adapt(
        self,
        minimum: int = 0,
        maximum: int | None = None,
        *,
        wait_s: float | Configured = Configured("cluster.adapt-wait"),
    ) -> None:
        """Let the number of workers follow the work.

        Parameters
        ----------
        minimum, maximum
            Least and largest number of workers; by default 0 and the number of CPUs.
        wait_s
            Seconds for which fewer workers must have been enough before some are retired.

        Raises
        ------
        OptionError
            If the bounds have no sense.
        ClusterClosed
            If the cluster has ended.
        """
        least, most, idle_s = checked_adaptive(minimum, maximum, wait_s)
        run_sync(self._connect().ask(lambda request: messages.Adapt(request, least, most, idle_s), "adapt()"))

    @property
    def dashboard_link(self) -> str:
        """Where the status page is: a path on this notebook's Jupyter server, or the command that serves it."""
        return status_page(self.id)

    if not TYPE_CHECKING:  # else no misspelt name would be found

        def __getattr__(self, name: str) -> Any:
            if hasattr(type(self), name):  # a property, in which another name was looked for
                return object.__getattribute__(self, name)
            instead = f"; {ATTRIBUTES_INSTEAD[name]}" if name in ATTRIBUTES_INSTEAD else ""
            raise AttributeError(
                f"{type(self).__name__!r} object has no attribute {name!r}{instead}", name=name, obj=self
            )

    def _connect(self) -> Connection:
        self._head.owner.require()
        with self._connecting:
            if self._connection is None or self._connection.closed_because:
                connection = Connection(self.record, wants_output=False)
                connection.workers.changed = partial(_refresh_card, weakref.ref(self))
                connection.open()
                self._connection = connection
            return self._connection

    def wait(self) -> None:
        """Return when the cluster has ended by itself, or somebody else has shut it down."""
        self._head.wait()

    def close(self) -> None:
        """End the head and the workers; returns when they are gone and nothing of them is left.

        A head that doesn't end is killed: see `HeadProcess.end`. In a forked child of the process that started the cluster
        nothing happens.
        """
        if self._connection is not None:
            self._connection.close("the cluster was closed")
        self._head.end(even_if_detached=True)
        self._finalizer.detach()
        _refresh_card(weakref.ref(self))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        n_workers, options = self._n_workers(), self.options
        return (
            f"{type(self).__name__}({self.name!r}, {self.status}, workers={n_workers}, "
            f"threads={n_workers * options.threads_per_worker}, memory={_total_memory(options, n_workers)})"
        )

    def _repr_html_(self) -> str:
        n_workers, options = self._n_workers(), self.options
        return render(
            "cluster.html.j2",
            id=self.id,
            name=self.name,
            status=self.status,
            facts=[
                ("Workers", f"{n_workers}, as many as the work needs" if self._is_adaptive() else n_workers),
                ("Threads", n_workers * options.threads_per_worker),
                ("Memory", _total_memory(options, n_workers)),
                *_device_facts(options),
            ],
        )

    def _ipython_display_(self) -> None:
        if self._card is None:
            this = weakref.ref(self)  # a card must not keep a cluster from being ended when it is forgotten
            self._card = LiveCard(lambda: _facts(this()), lambda: _bundle(this()), lambda: _listen(this()))
        self._card.show()

    def _n_workers(self) -> int:
        """Return how many workers the head has told of; before it was asked for anything, how many it began with."""
        info = None if self._connection is None else self._connection.workers.info
        return self.options.n_workers if info is None else len(info.workers)

    def _is_adaptive(self) -> bool:
        """Whether the head has told that the number of workers follows the work."""
        info = None if self._connection is None else self._connection.workers.info
        return info is not None and info.is_adaptive


def _refresh_card(this: weakref.ref[LocalCluster]) -> None:
    cluster = this()
    if cluster is not None and cluster._card is not None:
        cluster._card.refresh()


def _listen(cluster: LocalCluster | None) -> None:
    """Let the head tell how many workers there are."""
    if cluster is not None and cluster.status == "running":
        with contextlib.suppress(ClusterClosed, TimeoutError):  # then the card shows what is known
            cluster._connect()


def _facts(cluster: LocalCluster | None) -> Hashable:
    return None if cluster is None else (cluster.name, cluster.status, cluster._n_workers(), cluster._is_adaptive())


def _bundle(cluster: LocalCluster | None) -> dict[str, str]:
    if cluster is None:
        return {"text/plain": "<LocalCluster: ended, as nothing referred to it>"}
    return {"text/plain": repr(cluster), "text/html": cluster._repr_html_()}


def _free_name() -> str:
    """Return a name after this process that no running cluster has."""
    name, taken = f"local-{os.getpid()}", {record.name for record in read_records()}
    others = (f"{name}-{number}" for number in itertools.count(2))
    return next(other for other in itertools.chain([name], others) if other not in taken)


def _device_facts(options: HeadOptions) -> list[tuple[str, str]]:
    """Return how many devices there are, of what kind."""
    told = options.devices.settings
    kinds = Counter(told[uuid]["name"] for uuid in told)
    return [("GPUs", ", ".join(f"{count} x {name}" for name, count in kinds.items()))] if kinds else []


def _total_memory(options: HeadOptions, n_workers: int) -> str:
    limit = options.memory.limit_bytes
    return "no limit" if limit is None else format_bytes(limit * n_workers)
