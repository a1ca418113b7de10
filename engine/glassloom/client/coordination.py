"""Locks, semaphores, events, variables and queues that clients and tasks of a cluster share by name.

They live at the cluster's head. In a task, waiting for one lets another task run in the task's place. With an
asynchronous client the methods that wait return something to await. The same object may be used from several threads.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any, Self

from glassloom._names import checked_name
from glassloom.client.blocking import Operation, run_async
from glassloom.client.call_names import VARIABLES
from glassloom.client.client import Client
from glassloom.client.payload import dump_with_futures, load_with_futures
from glassloom.client.worker_api import get_client
from glassloom.errors import ClusterError, OptionError
from glassloom.protocol import coordination, messages
from glassloom.protocol.coordination import Op, Outcome
from glassloom.units import parse_seconds

Timeout = float | str | timedelta | None
_VARIABLE = VARIABLES


class _Shared:
    """Something of a cluster's that has a name. Pickled as its name: in a task it belongs to the task's cluster."""

    def __init__(self, name: str | None = None, client: Client | None = None) -> None:
        if name is not None and (not isinstance(name, str) or not name):
            raise OptionError(f"name={name!r} should be text, or None for a name of its own")
        self.name = checked_name("name", name or f"{type(self).__name__.lower()}-{uuid.uuid4().hex}")
        self._given_client = client

    @property
    def client(self) -> Client:
        """The client through which it is used."""
        return self._given_client or get_client()

    def __reduce__(self) -> Any:
        return type(self), (self.name,)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    def _negotiate(
        self, op: Op, timeout: Timeout = None, receive: Callable[[int, Outcome], Any] | None = None
    ) -> Operation[Any]:
        def unless_refused(request: int, outcome: Outcome) -> Any:
            if outcome.status == "refused":
                raise ClusterError(outcome.reason)
            return outcome if receive is None else receive(request, outcome)

        return (yield from self.client._connection.negotiate(op, parse_seconds("timeout", timeout), unless_refused))

    def _tell(self, op: Op) -> None:
        """Send a request that has no answer."""
        self.client._connection.send(messages.Coordinate(-1, op))


class _Leased(_Shared):
    """Something that a number of holders may have at once."""

    _kind = ""
    max_leases = 1

    def __init__(self, name: str | None, client: Client | None) -> None:
        super().__init__(name, client)
        self._leases: list[int] = []
        self._releasing = threading.Lock()

    def release(self) -> None:
        """Give a lease back that this object has acquired.

        Raises
        ------
        ClusterError
            If it has none.
        """
        with self._releasing:
            if not self._leases:
                raise ClusterError(f"{self!r} can't be released: this object hasn't acquired it")
            self._tell(coordination.ReleaseLease(self._kind, self.name, self._leases[-1]))
            self._leases.pop()  # last: if it was interrupted before, the lease is still known

    def __enter__(self) -> Self:
        if self.client.asynchronous:
            raise TypeError("the client is asynchronous: use `async with` instead of `with`")
        self.client._run(self._acquire(None))
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.release()
        except KeyboardInterrupt:
            if self._leases:
                self.release()
            raise

    async def __aenter__(self) -> Self:
        await run_async(self._acquire(None))
        return self

    async def __aexit__(self, *_: object) -> None:
        self.release()

    def _acquire(self, timeout: Timeout) -> Operation[bool]:
        op = coordination.AcquireLease(self._kind, self.name, self.max_leases)
        got: list[int] = []

        def receive(request: int, outcome: Outcome) -> bool:
            if outcome.status == "done":
                got.append(request)
                self._leases.append(request)
            return outcome.status == "done"

        try:
            return bool((yield from self._negotiate(op, timeout, receive)))
        except BaseException:  # such as an interrupt right after it was got
            for lease in set(got).intersection(self._leases):
                self._leases.remove(lease)
                self._tell(coordination.ReleaseLease(self._kind, self.name, lease))
            raise

    def _count(self) -> Operation[int]:
        outcome = yield from self._negotiate(coordination.CountLeases(self._kind, self.name))
        return outcome.number


class Semaphore(_Leased):
    """Lets a number of holders in at once, on the whole cluster: say, no more than four tasks that use one database.

    A lease ends when it is released, when its holder's client is closed, and when its holder's worker dies.

    Parameters
    ----------
    max_leases
        How many may hold it at once; the same wherever this name is used.
    name
        What it is called on the cluster; default a name of its own.
    client
        Default: in a task the task's, else the newest open client.

    Examples
    --------
    >>> from glassloom import Client, Semaphore
    >>> def query(number, database):
    ...     with database:
    ...         return number + 1
    >>> with Client(n_workers=1, threads_per_worker=2) as client:
    ...     client.gather(client.map(query, range(3), database=Semaphore(2, name="database")))
    [1, 2, 3]
    """

    _kind = "semaphore"

    def __init__(self, max_leases: int = 1, name: str | None = None, client: Client | None = None) -> None:
        if not isinstance(max_leases, int) or isinstance(max_leases, bool) or not 1 <= max_leases < 2**31:
            raise OptionError(f"max_leases={max_leases!r} should be a whole number, 1 or more")
        super().__init__(name, client)
        self.max_leases = max_leases

    def acquire(self, timeout: Timeout = None) -> Any:
        """Wait for a lease; return whether it was got in time.

        Raises
        ------
        ClusterError
            If a semaphore of this name with another number of leases is in use.
        """
        return self.client._run(self._acquire(timeout))

    def get_value(self) -> Any:
        """Return how many leases are taken."""
        return self.client._run(self._count())

    def __reduce__(self) -> Any:
        return type(self), (self.max_leases, self.name)


class Lock(_Leased):
    """Lets one holder in at once, on the whole cluster. The lock is open again when its holder's client or worker is gone.

    Parameters
    ----------
    name
        What it is called on the cluster; default a name of its own.
    client
        Default: in a task the task's, else the newest open client.

    Examples
    --------
    >>> from glassloom import Client, Lock
    >>> with Client(n_workers=1, threads_per_worker=1) as client, Lock("printer") as printer:
    ...     printer.locked(), Lock("printer").acquire(timeout=0.01)
    (True, False)
    """

    _kind = "lock"

    def __init__(self, name: str | None = None, client: Client | None = None) -> None:
        super().__init__(name, client)

    def acquire(self, blocking: bool = True, timeout: Timeout = None) -> Any:
        """Wait for the lock; return whether it was got, in time or without waiting if `blocking` is False."""
        return self.client._run(self._acquire(timeout if blocking else 0))

    def locked(self) -> Any:
        """Tell whether the lock is held."""
        return self.client._run(self._is_locked())

    def _is_locked(self) -> Operation[bool]:
        return (yield from self._count()) > 0


class Event(_Shared):
    """An event that some tasks or clients set and others wait for.

    Parameters
    ----------
    name
        What it is called on the cluster; default a name of its own.
    client
        Default: in a task the task's, else the newest open client.

    Examples
    --------
    >>> from glassloom import Client, Event
    >>> with Client(n_workers=1, threads_per_worker=1) as client:
    ...     future = client.submit(Event("go").wait)
    ...     Event("go").set()
    ...     future.result()
    True
    """

    def set(self) -> None:
        """Set the event: all waits for it end, and later ones end at once."""
        self._tell(coordination.SetEvent(self.name, True))

    def clear(self) -> None:
        """Clear the event."""
        self._tell(coordination.SetEvent(self.name, False))

    def is_set(self) -> Any:
        """Tell whether the event is set."""
        return self.client._run(self._is_set())

    def wait(self, timeout: Timeout = None) -> Any:
        """Wait until the event is set; return whether it was set in time."""
        return self.client._run(self._wait(timeout))

    def _is_set(self) -> Operation[bool]:
        outcome = yield from self._negotiate(coordination.ReadEvent(self.name))
        return bool(outcome.number)

    def _wait(self, timeout: Timeout) -> Operation[bool]:
        outcome = yield from self._negotiate(coordination.WaitEvent(self.name), timeout)
        return outcome.status == "done"


class Variable(_Shared):
    """A value that clients and tasks set and read. Futures in it are kept alive while they are in it.

    Parameters
    ----------
    name
        What it is called on the cluster; default a name of its own.
    client
        Default: in a task the task's, else the newest open client.

    Examples
    --------
    >>> from glassloom import Client, Variable
    >>> with Client(n_workers=1, threads_per_worker=1) as client:
    ...     Variable("best").set(client.submit(abs, -3))
    ...     Variable("best").get().result()
    3
    """

    def set(self, value: Any) -> Any:
        """Set the value: anything that pickles, with futures and persisted collections in it; up to 4 MiB.

        Raises
        ------
        SerialisationError, OptionError
            If it doesn't pickle, or is larger.
        """
        return self.client._run(self._set(value))

    def get(self, timeout: Timeout = None) -> Any:
        """Return the value; wait until there is one.

        Raises
        ------
        TimeoutError
            If there is none in time.
        """
        return self.client._run(self._get(timeout))

    def delete(self) -> Any:
        """Take the value away, if there is one."""
        return self.client._run(self._delete())

    def _set(self, value: Any) -> Operation[None]:
        yield from self._negotiate(coordination.VariableSet(_VARIABLE, self.name, dump_with_futures(value), True))

    def _get(self, timeout: Timeout) -> Operation[Any]:
        op = coordination.VariableGet(_VARIABLE, self.name, True)
        values = yield from self._negotiate(op, timeout, partial(load_with_futures, self.client))
        if values is None:
            raise TimeoutError(f"{self!r} has no value after {timeout} s")
        return values[0]

    def _delete(self) -> Operation[None]:
        yield from self.client._connection.negotiate(coordination.VariableDelete(_VARIABLE, self.name))


class Queue(_Shared):
    """Values that some put in and others take out, each once. Futures in it are kept alive while they are in it.

    Parameters
    ----------
    name
        What it is called on the cluster; default a name of its own.
    client
        Default: in a task the task's, else the newest open client.
    maxsize
        How many may be in it before `put` waits; 0: as many as come.

    Examples
    --------
    >>> from glassloom import Client, Queue
    >>> with Client(n_workers=1, threads_per_worker=1) as client:
    ...     queue = Queue("results")
    ...     future = client.submit(queue.put, "from a task")
    ...     queue.get()
    'from a task'
    """

    def __init__(self, name: str | None = None, client: Client | None = None, maxsize: int = 0) -> None:
        if not isinstance(maxsize, int) or isinstance(maxsize, bool) or not 0 <= maxsize < 2**31:
            raise OptionError(f"maxsize={maxsize!r} should be a whole number, 0 (no limit) or more")
        super().__init__(name, client)
        self.maxsize = maxsize

    def put(self, value: Any, timeout: Timeout = None) -> Any:
        """Add a value to the end: anything that pickles, with futures and persisted collections in it; up to 4 MiB.

        Raises
        ------
        TimeoutError
            If the queue is full for so long.
        SerialisationError, OptionError
            If it doesn't pickle, or is larger.
        """
        return self.client._run(self._put(value, timeout))

    def get(self, timeout: Timeout = None, batch: bool | int = False) -> Any:
        """Take the first value out; wait until there is one.

        Parameters
        ----------
        timeout
            Seconds to wait at most, or text such as ``"2 min"``.
        batch
            A number: so many values, as a list. True: all that are there now, as a list that may be empty.

        Raises
        ------
        TimeoutError
            If there aren't so many in time.
        """
        return self.client._run(self._get(timeout, batch))

    def qsize(self) -> Any:
        """Return how many values are in it."""
        return self.client._run(self._qsize())

    def close(self) -> None:
        """Empty the queue; waits for it end with an error."""
        self._tell(coordination.QueueClose(self.name))

    def __reduce__(self) -> Any:
        return type(self), (self.name, None, self.maxsize)

    def _put(self, value: Any, timeout: Timeout) -> Operation[None]:
        outcome = yield from self._negotiate(
            coordination.QueuePut(self.name, dump_with_futures(value), self.maxsize), timeout
        )
        if outcome.status == "withdrawn":
            raise TimeoutError(f"{self!r} is still full after {timeout} s")

    def _get(self, timeout: Timeout, batch: bool | int) -> Operation[Any]:
        count = -1 if batch is True else 1 if batch is False else batch
        if not isinstance(count, int) or count < -1 or count == 0:
            raise OptionError(f"batch={batch!r} should be True, False or a number, 1 or more")
        op = coordination.QueueGet(self.name, count)
        values = yield from self._negotiate(op, timeout, partial(load_with_futures, self.client))
        if values is None:
            raise TimeoutError(f"{self!r} has fewer than {count} values after {timeout} s")
        return values[0] if batch is False else values

    def _qsize(self) -> Operation[int]:
        outcome = yield from self._negotiate(coordination.QueueSize(self.name))
        return outcome.number
