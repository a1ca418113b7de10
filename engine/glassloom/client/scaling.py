"""`ScalingMethods`: a client asks for more or fewer workers, of our head or of a cluster object of dask.distributed's."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from inspect import isawaitable
from typing import Any

from glassloom.client.base import ClientBase
from glassloom.client.blocking import Operation
from glassloom.client.more_workers import start_of_a_worker
from glassloom.cluster.options import checked_adaptive, checked_count
from glassloom.config import Configured
from glassloom.errors import ClusterError
from glassloom.protocol import messages


class ScalingMethods(ClientBase):
    """The part of a client that changes the number of workers."""

    def scale(self, n: int) -> Any:
        """Start or retire workers until there are `n`, and end `adapt`.

        On a cluster of Glassloom's it returns when they are there, or gone. On one of dask.distributed the cluster object
        that the client was made from is asked, and workers come when it has started them: `wait_for_workers` waits.

        Raises
        ------
        OptionError
            If `n` is no number of workers.
        ClusterError
            If the client was made from the address of a scheduler of dask.distributed: only what starts its workers can.
        """
        n_workers = checked_count("n", n, 0)
        if self._record.kind == "distributed":
            return self._ask_cluster("scale", lambda cluster: cluster.scale(n_workers))
        return self._run(self._scale(n_workers))

    def _scale(self, n_workers: int) -> Operation[None]:
        yield from self._connection.ask(
            lambda request: messages.Scale(request, n_workers), f"scale({n_workers})", waits_for_work=True
        )

    def adapt(
        self,
        minimum: int = 0,
        maximum: int | None = None,
        *,
        wait_s: float | Configured = Configured("cluster.adapt-wait"),
    ) -> Any:
        """Let the number of workers follow the work.

        Parameters
        ----------
        minimum, maximum
            Least and largest number of workers; by default 0 and the number of CPUs, on dask.distributed no bound.
        wait_s
            Seconds for which fewer workers must have been enough before some are retired. dask.distributed has a number of
            its own, ``distributed.adaptive.wait-count`` in Dask's configuration, and doesn't see this one.

        Raises
        ------
        OptionError
            If the bounds have no sense.
        ClusterError
            As `scale`.
        """
        if self._record.kind == "distributed":
            least = checked_count("minimum", minimum, 0)
            checked_adaptive(minimum, max(least, 1) if maximum is None else maximum, wait_s)
            bounds = {"minimum": minimum} if maximum is None else {"minimum": minimum, "maximum": maximum}
            return self._ask_cluster("adapt", lambda cluster: _without_result(cluster.adapt(**bounds)))
        return self._run(self._adapt(*checked_adaptive(minimum, maximum, wait_s)))

    def _adapt(self, minimum: int, maximum: int, wait_s: float) -> Operation[None]:
        yield from self._connection.ask(lambda request: messages.Adapt(request, minimum, maximum, wait_s), "adapt()")

    def _ask_cluster(self, what: str, call: Callable[[Any], Any]) -> Any:
        """Let a cluster object of dask.distributed's do something."""
        self._connection.check_open()
        cluster = self.cluster
        if cluster is None:
            raise ClusterError(
                f"{what}() needs the object that starts the cluster's workers, and this client was made without one: call "
                f"cluster.{what}() where the cluster was made, or make the client from it, Client(cluster). "
                f"Or by hand: {start_of_a_worker(self._record.socket)}"
            )
        if not self.asynchronous:
            return call(cluster)

        async def ask() -> Any:
            result = await asyncio.to_thread(call, cluster)
            return await result if isawaitable(result) else result

        return ask()


def _without_result(_: Any) -> None:
    """Return nothing: what dask.distributed returns of `adapt` is its own."""
