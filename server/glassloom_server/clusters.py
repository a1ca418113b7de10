"""What may be done with clusters: list, start, find, shut down. It follows none of them itself (`watch` does)."""

from __future__ import annotations

import asyncio
from logging import Logger, LoggerAdapter

from glassloom_metrics.errors import ClusterNotFound
from glassloom_metrics.open_recordings import find_recording, withdraw_recording
from glassloom_metrics.registry import ClusterRecord, read_records
from glassloom_metrics.subscriber import send_command

from glassloom_server.launcher import KernelInterpreters, launch_cluster
from glassloom_server.watch import ClusterWatch
from glassloom_server.wire import StartRequest


class ClusterManager:
    """Acts on the clusters of this user, whoever started them.

    Parameters
    ----------
    watch
        What knows the current numbers of each cluster.
    interpreters
        Finds the Python of a kernel.
    working_directory
        Where new clusters run.
    """

    def __init__(
        self,
        *,
        watch: ClusterWatch,
        interpreters: KernelInterpreters,
        working_directory: str,
        log: Logger | LoggerAdapter[Logger],
    ) -> None:
        self._watch = watch
        self._interpreters = interpreters
        self._working_directory = working_directory
        self._log = log

    async def list(self) -> bytes:
        """Return all running clusters with their numbers, open recordings and clusters elsewhere, as JSON: see `wire`."""
        async with self._watch.listen() as listener:
            return await listener.next()

    async def exposition(self) -> str:
        """Return the numbers of all running clusters in Prometheus' text format."""
        return await self._watch.exposition()

    async def find(self, cluster_id: str) -> ClusterRecord:
        """Return the record of the running cluster of that id (never of that name); raises `ClusterNotFound`."""
        records = await asyncio.to_thread(read_records)
        for record in records:
            if record.id == cluster_id:
                return record
        running = ", ".join(repr(record.id) for record in records) or "none"
        raise ClusterNotFound(f"no cluster {cluster_id!r}; running: {running}")

    async def start(self, request: StartRequest) -> ClusterRecord:
        """Start a cluster in the environment of a kernel; returns once it is registered.

        Raises
        ------
        KernelUnsuitable
            If the kernel has no Python.
        ClusterStartError
            If the process fails; the message ends with what it wrote to stderr.
        """
        interpreter = await asyncio.to_thread(self._interpreters.find, request.kernel_name)
        cluster_id = await launch_cluster(interpreter, request, directory=self._working_directory)
        record = await self.find(cluster_id)
        self._log.info("Glassloom cluster %s (%s) started with %s", record.id, record.name, interpreter.python)
        return record

    async def close_recording(self, recording_id: str) -> None:
        """Let the dashboards show a recording no more; raises `ClusterNotFound` if none of that id is open."""
        record = await asyncio.to_thread(find_recording, recording_id)
        await asyncio.to_thread(withdraw_recording, record)

    async def shut_down(self, cluster_id: str) -> None:
        """Ask a cluster to end; raises `ClusterNotFound`, or `CommandRefused` for a pool of threads."""
        record = await self.find(cluster_id)
        await send_command(record, "shutdown")
        self._log.info("Glassloom cluster %s (%s) was asked to shut down", record.id, record.name)
