"""`Starter`: starts clusters in the background. Who asked is answered at once; the state tells what became of it."""

from __future__ import annotations

import asyncio
import itertools
import secrets
from logging import Logger, LoggerAdapter

import msgspec
from glassloom_metrics.registry import read_records

from glassloom_server.errors import GlassloomServerError, NameTaken, StartNotFound
from glassloom_server.launcher import START_TIMEOUT_S, Factory, Interpreter, KernelInterpreters, launch_cluster
from glassloom_server.profiles import Profiles
from glassloom_server.starts import NO_STARTS, Starts
from glassloom_server.watch import ClusterWatch
from glassloom_server.wire import Started, StartRequest


class Starter:
    """Starts clusters. Belongs to one event loop.

    Parameters
    ----------
    watch
        Is told of every change, for those who listen.
    directory
        Where new clusters run.
    timeout_s
        How long one may take to start.
    """

    def __init__(
        self,
        *,
        profiles: Profiles,
        interpreters: KernelInterpreters,
        watch: ClusterWatch,
        directory: str,
        log: Logger | LoggerAdapter[Logger],
        timeout_s: float = START_TIMEOUT_S,
    ) -> None:
        self._profiles = profiles
        self._interpreters = interpreters
        self._watch = watch
        self._directory = directory
        self._log = log
        self._timeout_s = timeout_s
        self._starts: Starts = NO_STARTS
        self._going_on: dict[str, asyncio.Task[None]] = {}

    async def start(self, request: StartRequest) -> Started:
        """Begin to start a cluster.

        Raises
        ------
        RequestMalformed
            If its numbers of workers contradict each other, or those of its profile.
        ProfileNotFound
            If there is no such profile.
        KernelUnsuitable
            If the kernel doesn't exist, or has no Python.
        NameTaken
            If a cluster of this host has the name already.
        """
        request = self._profiles.complete(request)
        request.check()
        factory = self._profiles.factory(request.profile)
        interpreter = await asyncio.to_thread(self._interpreters.find, request.kernel_name)
        running = await self._running_names()
        if request.name is None:
            taken = running | {start.name for start in self._starts.open}
            free = next(name for number in itertools.count(1) if (name := f"cluster-{number}") not in taken)
            request = msgspec.structs.replace(request, name=free)
        elif request.name in running | {start.name for start in self._starts.open if start.state == "starting"}:
            raise NameTaken(
                f"name={request.name!r} is what another cluster is called already: choose another name, or none"
            )
        started = Started(secrets.token_hex(6), str(request.name))
        self._tell(self._starts.begun(started.id, started.name))
        task = asyncio.create_task(self._start(started, interpreter, request, factory), name="glassloom-start")
        self._going_on[started.id] = task
        task.add_done_callback(lambda _: self._going_on.pop(started.id, None))
        return started

    async def cancel(self, start_id: str) -> None:
        """Give a start up, or forget a failed one; returns when its process has ended. Raises `StartNotFound`."""
        if self._starts.find(start_id) is None:
            known = ", ".join(repr(start.id) for start in self._starts.open) or "none"
            raise StartNotFound(f"no start {start_id!r}; there are: {known}")
        self._tell(self._starts.without(start_id))
        await self._give_up([start_id])

    async def stop(self) -> None:
        """Give up all starts that go on."""
        await self._give_up(list(self._going_on))

    async def _give_up(self, start_ids: list[str]) -> None:
        tasks = [task for start_id in start_ids if (task := self._going_on.get(start_id)) is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _start(
        self, started: Started, interpreter: Interpreter, request: StartRequest, factory: Factory | None
    ) -> None:
        try:
            cluster_id = await launch_cluster(
                interpreter, request, factory, directory=self._directory, timeout_s=self._timeout_s
            )
        except (GlassloomServerError, OSError) as error:
            self._log.warning("Glassloom cluster %s does not start: %s", started.name, error)
            self._tell(self._starts.failed(started.id, str(error)))
        else:
            self._log.info(
                "Glassloom cluster %s (%s) started with %s", cluster_id, started.name, interpreter.command[-1]
            )
            self._tell(self._starts.became(started.id, cluster_id))

    def _tell(self, starts: Starts) -> None:
        self._starts = starts
        self._watch.note_starts(starts)

    async def _running_names(self) -> set[str]:
        """Return the names of the clusters that run on this host."""
        return {record.name for record in await asyncio.to_thread(read_records)}
