"""`ClientBase`: what futures and all parts of a client build upon: its connection, and how it waits."""

from __future__ import annotations

from collections.abc import Sequence
from types import FunctionType
from typing import Any

from glassloom_metrics.registry import ClusterRecord

from glassloom.client.blocking import Operation, run_async, run_sync
from glassloom.client.deadline import Deadline
from glassloom.client.key_table import KeyState
from glassloom.client.link import Link
from glassloom.client.more_workers import way_to_more_workers
from glassloom.errors import ClusterClosed, ClusterError
from glassloom.graph import Key
from glassloom.protocol.identity import status_page

_ATTACH_S = 30.0
_PARTS = __name__.rpartition(".")[0] + "."


class ClientBase:
    """Something that is connected to a cluster, or will be.

    Python's own errors about a call name the function by its ``__qualname__``: the methods of all parts of a client are
    named as users know them, ``Client.scatter`` and not ``ResultMethods.scatter``.
    """

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if cls.__module__.startswith(_PARTS):
            for method in vars(cls).values():
                _name_as_users_know_it(method)

    asynchronous: bool
    cluster: Any
    """The cluster object that the client was made from, or started; None if there is none."""
    _record: ClusterRecord
    _link: Link | None

    @property
    def _connection(self) -> Link:
        if self._link is None:
            raise ClusterClosed("this asynchronous client isn't connected yet: use `async with`, or `await` it first")
        return self._link

    @property
    def id(self) -> str:
        """The cluster's id."""
        return self._record.id

    @property
    def name(self) -> str:
        """The cluster's name; another process of this user connects with ``Client(name)``."""
        return (self._link.workers.cluster_name if self._link is not None else "") or self._record.name

    @property
    def status(self) -> str:
        """``"running"``, ``"closed"``, or ``"connecting"`` for an asynchronous client that wasn't awaited yet."""
        if self._link is None:
            return "connecting"
        return "closed" if self._connection.closed_because else "running"

    @property
    def dashboard_link(self) -> str:
        """Where the cluster's status page is: a path on this notebook's Jupyter server, or the command that serves it."""
        if self._link is not None and self._link.dashboard:
            return self._link.dashboard
        return status_page(self.id)

    def _way_to_more_workers(self) -> str:
        """What a user who waits without workers can do."""
        return way_to_more_workers(self._record, self.cluster)

    def _fetch(self, keys: Sequence[Key], states: Sequence[KeyState], deadline: Deadline) -> Operation[list[Any]]:
        """Return the results of keys that are finished."""
        raise NotImplementedError

    def cancel(self, futures: Any, force: bool = False, **others: Any) -> None:
        """Give tasks up."""
        raise NotImplementedError

    def retry(self, futures: Any) -> None:
        """Try failed tasks again."""
        raise NotImplementedError

    def _published_record(self) -> ClusterRecord:
        """Return the record by which others follow the cluster; raises `ClusterError` if there is none."""
        found = self._connection.attached_record(_ATTACH_S) if self._record.kind == "distributed" else self._record
        if found is None:
            raise ClusterError(
                f"the cluster at {self._record.name} isn't attached, so that nothing is known of it: set the option distributed.attach "
                "to true before the client connects; if it is, `glassloom attach` says what is wrong"
            )
        return found

    def _require_own_cluster(self, what: str, instead: str) -> None:
        """Raise if the cluster is one of dask.distributed, which can't do something."""
        if self._record.kind == "distributed":
            raise ClusterError(f"{what} isn't there on a cluster of dask.distributed; {instead}")

    def _run(self, steps: Operation[Any]) -> Any:
        """Carry on what may have to wait: in this thread, or, for an asynchronous client, in whoever awaits it."""
        return run_async(steps) if self.asynchronous else run_sync(steps)


def _name_as_users_know_it(method: object) -> None:
    """Let a method, with what a decorator wraps, be named as the client's."""
    while isinstance(method, FunctionType):
        method.__qualname__ = f"Client.{method.__name__}"
        method = getattr(method, "__wrapped__", None)
