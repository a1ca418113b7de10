"""`Future`: a result that a cluster computes or holds; and waiting for several."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from glassloom.errors import CancelledError, ClusterClosed
from glassloom.graph import Handle, Key, key_text
from glassloom.reprs import render
from glassloom.runtime import failure, messages
from glassloom.runtime.connection import CANCELLED, ERROR, FINISHED, LOST, PENDING
from glassloom.units import format_bytes

if TYPE_CHECKING:
    from glassloom.client import Client


class Future(Handle):
    """A result on a cluster. Held there for as long as a future of its key exists.

    Made by `Client.submit` and its like. Passing a future to `submit`, or using it in a collection, passes its result.
    """

    def __init__(self, key: Key, client: Client) -> None:
        self.key = key
        self._client = client
        self._connection = client._connection
        self._state = self._connection.refer(key)

    def __del__(self) -> None:
        connection = getattr(self, "_connection", None)
        if connection is not None and hasattr(self, "_state"):
            connection.unrefer(self.key)

    def __reduce__(self) -> Any:
        raise TypeError(
            f"the future {key_text(self.key)} can't be pickled; pass it as an argument of submit() or map(), directly "
            "or inside lists, tuples and dicts, and the task gets its result"
        )

    @property
    def client(self) -> Client:
        """The client that made the future."""
        return self._client

    @property
    def status(self) -> str:
        """``"pending"``, ``"finished"``, ``"error"``, ``"cancelled"``, or ``"lost"`` when the cluster has ended."""
        return self._state.status

    @property
    def nbytes(self) -> int:
        """Size of the result in bytes, 0 until it is there."""
        return self._state.nbytes

    def done(self) -> bool:
        """Tell whether waiting is over, one way or the other."""
        return self._state.status != PENDING

    def cancelled(self) -> bool:
        """Tell whether the task was cancelled."""
        return self._state.status == CANCELLED

    def cancel(self) -> None:
        """Give the task up, with all that depends on it. A task that is running already runs to its end, unheard."""
        self._client.cancel([self])

    def release(self) -> None:
        """Nothing to do: the result is let go when the last future of its key is deleted."""

    def result(self, timeout: float | None = None) -> Any:
        """Wait for the task and return its result.

        Parameters
        ----------
        timeout
            Seconds to wait at most; None: as long as it takes.

        Raises
        ------
        TimeoutError
            If the result isn't there in time.
        CancelledError
            If the task was cancelled.
        ClusterClosed
            If the cluster ended first.
        Exception
            The task's own exception, with its own traceback and a note that names the task and the line that built it.
        """
        self._wait(timeout)
        raise_unless_finished(self)
        return self._client._gather_keys([self.key])[0]

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Wait for the task and return its exception, or None if it has none. Raises as `result`, but for the task's."""
        self._wait(timeout)
        if self._state.status == ERROR and self._state.failure is not None:
            return failure.restore(self._state.failure)
        raise_unless_finished(self)
        return None

    def traceback(self, timeout: float | None = None) -> Any:
        """Wait for the task and return the traceback of its exception, or None."""
        error = self.exception(timeout)
        return None if error is None else error.__traceback__

    def add_done_callback(self, function: Callable[[Future], Any]) -> None:
        """Call ``function(future)`` when the task is done, from a thread of the client's."""
        self._connection.when_done(self._state, lambda: function(self))

    def _wait(self, timeout: float | None) -> None:
        if self._state.status == PENDING and not _wait_for([self], timeout, 1):
            raise TimeoutError(f"{key_text(self.key)} has no result after {timeout} s; it is still {self.status}")

    def __repr__(self) -> str:
        size = f", {format_bytes(self.nbytes)}" if self.status == FINISHED else ""
        return f"<Future: {self.status}{size}, key: {key_text(self.key)}>"

    def _repr_html_(self) -> str:
        error = self._state.failure
        return render(
            "future.html.j2",
            key=key_text(self.key),
            status=self.status,
            size=format_bytes(self.nbytes) if self.status == FINISHED else "",
            error=f"{error.exception}: {error.message}" if error is not None else "",
            origin=error.origin if error is not None else "",
        )


class DoneAndNotDone(NamedTuple):
    """What `wait` returns: two sets of futures."""

    done: set[Future]
    not_done: set[Future]


def wait(
    fs: Any,
    timeout: float | None = None,
    return_when: Literal["ALL_COMPLETED", "FIRST_COMPLETED"] = "ALL_COMPLETED",
) -> DoneAndNotDone:
    """Wait until all (or any) of some futures are done. Doesn't raise what the tasks raised.

    Parameters
    ----------
    fs
        Futures, or collections that were persisted with a client, alone or in a list.
    timeout
        Seconds to wait at most; None: as long as it takes.
    return_when
        ``"ALL_COMPLETED"`` or ``"FIRST_COMPLETED"``.

    Raises
    ------
    TimeoutError
        If they aren't done in time.
    ValueError
        If `return_when` is something else.
    """
    if return_when not in ("ALL_COMPLETED", "FIRST_COMPLETED"):
        raise ValueError(f"return_when={return_when!r} should be 'ALL_COMPLETED' or 'FIRST_COMPLETED'")
    futures = futures_of(fs)
    n_wanted = len(futures) if return_when == "ALL_COMPLETED" else min(1, len(futures))
    if not _wait_for(futures, timeout, n_wanted):
        n_done = sum(future.done() for future in futures)
        raise TimeoutError(f"{n_done} of {len(futures)} futures are done after {timeout} s")
    done = {future for future in futures if future.done()}
    return DoneAndNotDone(done, set(futures) - done)


def as_completed(
    futures: Iterable[Future], *, with_results: bool = False, timeout: float | None = None
) -> Iterator[Any]:
    """Yield futures in the order in which they finish.

    Parameters
    ----------
    futures
        Futures; each is yielded once.
    with_results
        Yield ``(future, result)`` pairs instead; a task's exception is raised when its turn comes.
    timeout
        Seconds after which `TimeoutError` is raised, counted from the first request.
    """
    finished: queue.SimpleQueue[Future] = queue.SimpleQueue()
    waiting = list(dict.fromkeys(futures_of(list(futures))))
    for future in waiting:
        future.add_done_callback(finished.put)
    deadline_s = None if timeout is None else time.monotonic() + timeout
    for number in range(len(waiting)):
        try:
            left_s = None if deadline_s is None else max(0.0, deadline_s - time.monotonic())
            future = finished.get(timeout=left_s)
        except queue.Empty:
            raise TimeoutError(f"{number} of {len(waiting)} futures are done after {timeout} s") from None
        yield (future, future.result()) if with_results else future


def fire_and_forget(futures: Any) -> None:
    """Let tasks run to their end even if all their futures are deleted.

    Parameters
    ----------
    futures
        Futures, or a persisted collection, alone or in a list.
    """
    for future in futures_of(futures):
        future._connection.send(messages.FireAndForget([future.key]))


def futures_of(value: Any) -> list[Future]:
    """Return the futures in `value`: itself, those inside containers, or those that a persisted collection holds."""
    if isinstance(value, Future):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple, set, frozenset)):
        return [future for item in value for future in futures_of(item)]
    expr = getattr(value, "expr", None)
    held = getattr(getattr(expr, "source", None), "held", None)
    if isinstance(held, dict):
        return [future for future in held.values() if isinstance(future, Future)]
    raise TypeError(f"expected futures or a persisted collection, got {type(value).__name__}: {value!r}")


def raise_unless_finished(future: Future) -> None:
    """Raise what kept a future from having a result."""
    status, reason = future.status, future._state.failure
    if status == ERROR and reason is not None:
        raise failure.harmless(failure.restore(reason))
    if status == CANCELLED:
        raise CancelledError(f"task {key_text(future.key)} was cancelled, or its result was released before")
    if status == LOST:
        raise ClusterClosed(f"{key_text(future.key)} is lost: {future._connection.closed_because}")


def _wait_for(futures: list[Future], timeout: float | None, n_wanted: int) -> bool:
    """Wait until `n_wanted` futures are done; return whether they are."""
    enough = threading.Event()
    n_done = 0
    lock = threading.Lock()

    def count() -> None:
        nonlocal n_done
        with lock:
            n_done += 1
            if n_done >= n_wanted:
                enough.set()

    if not n_wanted:
        return True
    for future in futures:
        future._connection.when_done(future._state, count)
    return enough.wait(timeout)
