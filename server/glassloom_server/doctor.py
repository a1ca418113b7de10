"""`Doctor`: `glassloom_metrics.doctor` with what only this server can look at: kernels, the last-heard table, the dashboards."""

from __future__ import annotations

import asyncio
import time

from glassloom_metrics.doctor import (
    BAD,
    GOOD,
    HOP_TIMEOUT_S,
    SKIPPED,
    UNKNOWN,
    Finding,
    Hop,
    Probes,
    examine,
    examine_recording,
    heard_finding,
)
from glassloom_metrics.host import is_stopped
from glassloom_metrics.open_recordings import RECORDING_PREFIX
from glassloom_metrics.registry import ClusterRecord
from jupyter_server.services.kernels.kernelmanager import MappingKernelManager
from jupyter_server.utils import ensure_async
from msgspec import Struct
from tornado.httpclient import HTTPClientError

from glassloom_server.dashboards import DashboardsProcess
from glassloom_server.watch import ClusterWatch

_LISTEN_S = 2.0
"""How long a cluster may take to be heard for the first time."""
_LOOK_AGAIN_S = 0.05
_LOG_TAIL_CHARS = 400


class Examination(Struct, frozen=True):
    """How each hop between a cluster and the browser is; the browser adds its own WebSocket."""

    hops: list[Hop]


class Doctor:
    """Walks the hops. Starts nothing.

    Parameters
    ----------
    kernels
        This server's.
    watch
        What badges are made of.
    """

    def __init__(
        self,
        *,
        kernels: MappingKernelManager,
        watch: ClusterWatch,
        dashboards: DashboardsProcess,
        timeout_s: float = HOP_TIMEOUT_S,
    ) -> None:
        self._kernels = kernels
        self._watch = watch
        self._dashboards = dashboards
        self._timeout_s = timeout_s

    async def examine(self, cluster_id: str | None) -> Examination:
        """Return how the hops to a cluster are, by default the newest, or those to an open recording."""
        probes = Probes(
            kernel=self._look_at_kernel,
            heard=self._look_at_table,
            dashboards=self._look_at_dashboards,
            proxy=self._look_at_proxy,
        )
        if cluster_id is not None and cluster_id.startswith(RECORDING_PREFIX):
            return Examination(await examine_recording(cluster_id, probes=probes, timeout_s=self._timeout_s))
        return Examination(await examine(cluster_id, probes=probes, timeout_s=self._timeout_s))

    async def _look_at_kernel(self, record: ClusterRecord) -> Finding:
        kernel_id = record.kernel_id
        if kernel_id is None:
            return Finding(SKIPPED, "The cluster belongs to no kernel.")
        if kernel_id not in self._kernels:
            detail = f"Kernel {kernel_id} isn't one of this server's: another server has it, or it has ended."
            return Finding(UNKNOWN, detail)
        if not await ensure_async(self._kernels.is_alive(kernel_id)):
            return Finding(BAD, f"Kernel {kernel_id} is dead.", "Restart the kernel and run the notebook again.")
        return Finding(
            GOOD, f"Kernel {kernel_id} is alive, and {self._kernels.kernel_model(kernel_id)['execution_state']}."
        )

    async def _look_at_table(self, record: ClusterRecord) -> Finding:
        async with self._watch.listen():
            give_up_s = time.monotonic() + min(_LISTEN_S, self._timeout_s / 2)
            while (at_s := await self._watch.heard_at_s(record.id)) is None and time.monotonic() < give_up_s:
                await asyncio.sleep(_LOOK_AGAIN_S)
        return heard_finding(record, at_s, time.time())

    async def _look_at_dashboards(self) -> Finding:
        status = await self._dashboards.status()
        if status.pid is None and not status.ended:
            return Finding(SKIPPED, "It doesn't run yet: it is started with the first page.")
        if status.pid is None:
            detail = f"It has ended {status.ended} times. It said last: …{status.log[-_LOG_TAIL_CHARS:].strip()}"
            if status.restart_wait_s:
                return Finding(BAD, detail, f"It is started again in {status.restart_wait_s:.0f} s. Read its log.")
            return Finding(UNKNOWN, detail, "Open a page: it is started again.")
        if is_stopped(status.pid):
            mend = f"Let it go on: kill -CONT {status.pid}. Else it is soon killed and started again."
            return Finding(BAD, f"Process {status.pid} is stopped by a signal.", mend)
        if self._dashboards.is_starting:
            return Finding(SKIPPED, f"Process {status.pid} is starting. Look again in a moment.")
        if status.state != "running":
            mend = f"It is started again by itself if it stays so. To hurry: kill {status.pid}"
            return Finding(BAD, f"Process {status.pid} runs, but doesn't answer.", mend)
        return Finding(GOOD, f"Process {status.pid} runs.")

    async def _look_at_proxy(self) -> Finding:
        if self._dashboards.pid is None:
            return Finding(SKIPPED, "There is no dashboards process to ask.")
        if self._dashboards.is_starting:
            return Finding(SKIPPED, "The dashboards process is starting.")
        began_s = time.monotonic()
        try:
            await self._dashboards.ask_for_health(self._timeout_s * 0.9)
        except HTTPClientError as error:
            mend = f"Read the log of the dashboards. To start them again: kill {self._dashboards.pid}"
            return Finding(BAD, f"The dashboards don't answer through their socket: {error}.", mend)
        return Finding(GOOD, f"The dashboards answered within {time.monotonic() - began_s:.3f} s.")
