"""`ClusterCommands`: what the head does for people who ask from outside: the panel, `glassloom cluster`. It knows no client.

Every command is answered at once with a sentence: what it has set in motion, not what will come of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec
from glassloom_metrics.errors import CommandRefused
from glassloom_metrics.protocol import Command, Settings
from glassloom_metrics.registry import read_records, write_record

from glassloom._names import checked_cluster_name
from glassloom.errors import OptionError
from glassloom.head.idle_timer import IdleTimer
from glassloom.head.metrics_writer import MetricsWriter
from glassloom.head.worker_pool import WorkerPool
from glassloom.protocol.options import HeadOptions
from glassloom.scheduler import Adaptive
from glassloom.units import format_seconds

MAX_WORKERS = 4096
"""More workers than these are taken for a mistake."""
_ADAPT_WAIT_S = 3.0

Arguments = Mapping[str, Any]


class ClusterCommands:
    """Carries out the commands of subscribers, and keeps the cluster's settings. Called in the head's event loop.

    Parameters
    ----------
    cluster_id
        The cluster's, whose record is renamed.
    is_used
        Tells whether the cluster was in use since it was called last.
    restart
        Cancels all tasks and replaces all workers.
    settle
        Lets the scheduler act on what it was told so far.
    end
        Ends the cluster for a reason.

    Attributes
    ----------
    name
        What the cluster is called now.
    """

    def __init__(
        self,
        options: HeadOptions,
        cluster_id: str,
        worker_pool: WorkerPool,
        metrics_writer: MetricsWriter,
        *,
        is_used: Callable[[], bool],
        restart: Callable[[], None],
        settle: Callable[[], None],
        end: Callable[[str], None],
    ) -> None:
        self.name = options.name
        self._cluster_id = cluster_id
        self._worker_pool = worker_pool
        self._metrics_writer = metrics_writer
        self._is_used = is_used
        self._restart_workers = restart
        self._settle = settle
        self._end = end
        self._n_first = options.n_workers
        self._idle = IdleTimer(options.idle_timeout_s)
        self._was_asked = False
        self._handlers: dict[str, Callable[[Arguments], Awaitable[str]]] = {
            "scale": self._scale,
            "adapt": self._adapt,
            "restart": self._restart,
            "rename": self._rename,
            "shutdown": self._shut_down,
        }

    async def handle(self, command: Command) -> str:
        """Carry out a command; return what it has done.

        Raises
        ------
        CommandRefused
            If there is no such command, or its arguments have no sense; the message says why.
        """
        handler = self._handlers.get(command.name)
        if handler is None:
            known = ", ".join(map(repr, self._handlers))
            raise CommandRefused(f"cluster {self.name!r} doesn't know {command.name!r}, but {known}")
        self._was_asked = True
        outcome = await handler(command.arguments)
        self._settle()
        return outcome

    def observe(self, now_s: float) -> None:
        """Note whether the cluster is in use; tell subscribers how it is set up; end it if it has been idle for too long."""
        is_starting = self._n_first > 0 and not self._worker_pool.all_ready.is_set()
        self._idle.observe(now_s, is_used=self._is_used() or is_starting or self._was_asked)
        self._was_asked = False
        self._tell(now_s)
        if self._idle.is_over(now_s):
            idle = format_seconds(self._idle.timeout_s or 0.0)
            self._metrics_writer.log("info", f"the cluster ends: it has been idle for {idle}, its idle_timeout")
            self._end(f"it was idle for {idle}, its idle_timeout")

    def _tell(self, now_s: float) -> None:
        adaptive = self._worker_pool.adaptive
        self._metrics_writer.settings(
            Settings(
                now_s,
                self.name,
                list(self._handlers),
                adaptive.minimum if adaptive else None,
                adaptive.maximum if adaptive else None,
                self._idle.timeout_s,
                self._idle.since_s,
            )
        )

    async def _scale(self, arguments: Arguments) -> str:
        n = _count(arguments, "n", least=0)
        self._check_most("n", n)
        before = self._worker_pool.n_wanted
        self._worker_pool.scale(n)
        if n == before:
            return f"The cluster has {_workers(n)}, as before."
        return f"The cluster goes from {before} to {_workers(n)}."

    async def _adapt(self, arguments: Arguments) -> str:
        if not arguments:
            self._worker_pool.scale(self._worker_pool.n_wanted)
            return f"The number of workers stays at {self._worker_pool.n_wanted}."
        minimum, maximum = _count(arguments, "minimum", least=0), _count(arguments, "maximum", least=1)
        self._check_most("minimum", minimum)
        self._check_most("maximum", maximum)
        if minimum > maximum:
            raise CommandRefused(f"minimum={minimum} is larger than maximum={maximum}")
        wait_s = arguments.get("wait_s", _ADAPT_WAIT_S)
        if isinstance(wait_s, bool) or not isinstance(wait_s, (int, float)) or not wait_s >= 0:
            raise CommandRefused(f"wait_s={wait_s!r} should be a number of seconds, 0 or more")
        self._worker_pool.adapt(Adaptive(minimum, maximum, float(wait_s)))
        return f"The number of workers follows the work, between {minimum} and {maximum}."

    def _check_most(self, name: str, n: int) -> None:
        most = self._worker_pool.most_workers
        if most is not None and n > most:
            raise CommandRefused(f"{name}={n}: each worker of this cluster has a GPU of its own, and there are {most}")

    async def _restart(self, arguments: Arguments) -> str:
        n_workers = len(self._worker_pool.connections)
        self._restart_workers()
        return f"{_workers(n_workers).capitalize()} restarted; all tasks were cancelled and all results dropped."

    async def _rename(self, arguments: Arguments) -> str:
        name = _name(arguments)
        await asyncio.to_thread(_rename_record, self._cluster_id, name)
        before, self.name = self.name, name
        self._worker_pool.rename(name)
        self._metrics_writer.rename(name)
        self._metrics_writer.log("info", f"the cluster {before!r} is called {name!r} now")
        return f"The cluster {before!r} is called {name!r} now."

    async def _shut_down(self, arguments: Arguments) -> str:
        self._end("shut down")
        return "The cluster ends."


def _count(arguments: Arguments, name: str, *, least: int) -> int:
    value = arguments.get(name)
    if type(value) is not int or not least <= value <= MAX_WORKERS:
        raise CommandRefused(f"{name}={value!r} should be a whole number from {least} to {MAX_WORKERS}")
    return value


def _name(arguments: Arguments) -> str:
    try:
        return checked_cluster_name(arguments.get("name"))
    except OptionError as error:
        raise CommandRefused(str(error)) from error


def _rename_record(cluster_id: str, name: str) -> None:
    """Write the cluster's record anew, with another name. Blocks."""
    records = {record.id: record for record in read_records()}
    taken = next((record for record in records.values() if record.name == name and record.id != cluster_id), None)
    if taken is not None:
        raise CommandRefused(f"the cluster {taken.id!r} is called {name!r} already")
    if cluster_id not in records:
        raise CommandRefused("the cluster has no record in the registry, which would hold its name")
    try:
        write_record(msgspec.structs.replace(records[cluster_id], name=name))
    except OSError as error:
        raise CommandRefused(f"the cluster's record can't be written: {error.strerror or error}") from error


def _workers(number: int) -> str:
    return "1 worker" if number == 1 else f"{number} workers"
