"""What may be done with clusters: find, command, shut down, kill, read the log of. It follows none of them itself (`watch` does)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from logging import Logger, LoggerAdapter
from pathlib import Path

from glassloom_metrics.errors import ClusterNotFound, CommandRefused
from glassloom_metrics.registry import CLUSTER_LOG, ClusterRecord, read_records
from glassloom_metrics.subscriber import send_command

from glassloom_server.killing import kill_cluster
from glassloom_server.process_log import last_lines

COMMAND_TIMEOUT_S = 8.0
"""How long a cluster may take to answer."""
MAX_LOG_LINES = 10_000


class ClusterManager:
    """Acts on the clusters of this user, whoever started them.

    Parameters
    ----------
    command_timeout_s
        How long a cluster may take to answer.
    """

    def __init__(self, *, log: Logger | LoggerAdapter[Logger], command_timeout_s: float = COMMAND_TIMEOUT_S) -> None:
        self._log = log
        self._command_timeout_s = command_timeout_s

    async def find(self, cluster_id: str) -> ClusterRecord:
        """Return the record of the running cluster of that id (never of that name); raises `ClusterNotFound`."""
        records = await asyncio.to_thread(read_records)
        for record in records:
            if record.id == cluster_id:
                return record
        running = ", ".join(repr(record.id) for record in records) or "none"
        raise ClusterNotFound(f"no cluster {cluster_id!r}; running: {running}")

    async def command(
        self, cluster_id: str, name: str, arguments: Mapping[str, int | float | str | None] | None = None
    ) -> str:
        """Ask a cluster for something; return what it has done as a sentence.

        Raises
        ------
        ClusterNotFound
            If no such cluster runs.
        CommandRefused
            If it doesn't do that, such as a pool of threads.
        TimeoutError
            If it doesn't answer in time.
        """
        record = await self.find(cluster_id)
        outcome = await send_command(record, name, arguments, timeout_s=self._command_timeout_s)
        self._log.info("Glassloom cluster %s (%s): %s. %s", record.id, record.name, name, outcome)
        return outcome

    async def shut_down(self, cluster_id: str) -> None:
        """Ask a cluster to end; raises as `command`."""
        await self.command(cluster_id, "shutdown")

    async def kill(self, cluster_id: str) -> None:
        """Kill a cluster's processes and remove its record, whether it answers or not.

        Raises
        ------
        ClusterNotFound
            If no such cluster runs.
        CommandRefused
            If it is a pool of threads: its process is the user's own.
        """
        record = await self.find(cluster_id)
        if record.kind == "threads":
            raise CommandRefused(
                f"{record.name!r} is the pool of threads of process {record.pid}: it ends with that process"
            )
        if record.kind != "processes":
            raise CommandRefused(f"{record.name!r} is a cluster of Dask's, which isn't killed from here")
        await asyncio.to_thread(kill_cluster, record)
        self._log.warning("Glassloom cluster %s (%s) was killed", record.id, record.name)

    async def last_log_lines(self, cluster_id: str, n_lines: int) -> list[str]:
        """Return the newest lines of a cluster's log; raises `ClusterNotFound`."""
        record = await self.find(cluster_id)
        path = Path(record.directory) / CLUSTER_LOG
        return await asyncio.to_thread(last_lines, path, min(n_lines, MAX_LOG_LINES))
