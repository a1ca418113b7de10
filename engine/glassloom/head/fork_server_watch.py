"""Whether the fork server answers: what the log says, and when the cluster ends because it doesn't."""

from __future__ import annotations

from collections.abc import Callable

from glassloom.head.fork_server_client import ForkServerClient
from glassloom.head.health import GONE_S, UNANSWERED_S, Pulse
from glassloom.head.metrics_writer import MetricsWriter


class ForkServerWatch:
    """Watches one fork server.

    Parameters
    ----------
    on_gone
        Called in the event loop with a reason: no worker can be replaced any more.
    """

    def __init__(self, client: ForkServerClient, metrics_writer: MetricsWriter, on_gone: Callable[[str], None]) -> None:
        self._client = client
        self._metrics_writer = metrics_writer
        self._on_gone = on_gone
        self._pulse = Pulse.ALIVE

    async def run(self) -> None:
        """Carry on what the fork server tells, until it is gone."""
        await self._client.run()
        self._metrics_writer.log("error", f"{self._client.end_reason}; the cluster ends")
        self._on_gone(self._client.end_reason)

    def check(self, now_s: float) -> None:
        """Ask for a sign of life, and say what comes of it. Call it about twice a second."""
        before, self._pulse = self._pulse, self._client.check(now_s)
        who = f"the fork server (pid {self._client.pid})"
        if self._pulse is Pulse.GONE:
            self._on_gone(f"{who} didn't answer for {GONE_S:.0f} s: it is stopped, or the machine is overloaded")
        elif self._pulse is Pulse.UNANSWERED and before is Pulse.ALIVE:
            text = f"{who} hasn't answered for {UNANSWERED_S:.0f} s: workers that end are not replaced until it does"
            self._metrics_writer.log("error", f"{text}, and after {GONE_S:.0f} s the cluster ends")
        elif before is Pulse.UNANSWERED and self._pulse is Pulse.ALIVE:
            self._metrics_writer.log("info", f"{who} answers again")
