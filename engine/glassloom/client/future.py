"""`Future`: a result that a cluster computes or holds; and waiting for several."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any, Literal, NamedTuple, Self

from glassloom.client.base import ClientBase
from glassloom.client.blocking import Operation, Signal, WaitFor, run_async, run_sync
from glassloom.client.deadline import Deadline
from glassloom.client.head_watch import HeadWatch
from glassloom.client.key_table import CANCELLED, ERROR, FINISHED, LOST, PENDING, KeyState
from glassloom.client.link import Link
from glassloom.client.open_clients import client_of
from glassloom.errors import CancelledError, ClusterClosed
from glassloom.graph import Handle, Key, key_text
from glassloom.protocol import failure, messages
from glassloom.protocol.pickled_futures import note_pickled
from glassloom.protocol.tracebacks import hides_engine_frames
from glassloom.reprs import render
from glassloom.reprs.live_card import LiveCard
from glassloom.units import format_bytes, parse_seconds
from glassloom.worker.task_context import current_worker

_MAX_NAMED = 5
_client_of, _state_of = attrgetter("_client"), attrgetter("_state")


class Future(Handle):
    """A result on a cluster. Held there for as long as a future of its key exists.

    Made by `Client.submit` and its like. Passing a future to `submit`, or using it in a collection, passes its result.
    In a notebook's cell, and wherever else there is an event loop, ``await future`` returns its result too. With an
    asynchronous client the methods that wait return something to await.

    A future can be pickled, as a part of what tasks read or return, or by itself. Unpickling it gives a future of the same
    key, in a task of the cluster or in another process with a `Client` of it. A task whose function or arguments contain a
    pickled future begins when that is finished, like a task that takes it as an argument, and fails if that has failed.
    It may be unpickled before the cluster has heard of its task: it is pending then.
    Any other pickle, such as a task's result, doesn't hold the future's result: keep a future of it until it is unpickled.
    """

    __slots__ = ("__weakref__", "_client", "_state", "key")

    def __init__(self, key: Key, client: ClientBase, state: KeyState | None = None) -> None:
        self.key = key
        self._client = client
        self._state: KeyState = client._connection.hold(key) if state is None else state

    @classmethod
    def of_states(cls, keys: Sequence[Key], states: Sequence[KeyState], client: ClientBase) -> list[Future]:
        """Return the futures of many keys."""
        return [cls(key, client, state) for key, state in zip(keys, states, strict=True)]

    __dask_future__ = True
    """Dask takes a future in a graph, or among the arguments of `dask.delayed`, for its result."""

    def __glassloom_tokenize__(self) -> tuple[str, Key]:
        return (self._connection.record.id, self.key)  # another cluster's of that key is another result

    def __dask_tokenize__(self) -> Any:
        return ("glassloom.Future", self.key)

    def __reduce__(self) -> Any:
        connection = self._connection
        record = connection.record
        if note_pickled(record.id, self.key):  # the head makes it a dependency before anything unpickles it
            return attach_pickled_future, (record.id, record.name, self.key)
        maker = connection.welcome.client, connection.sent_as(self._state)
        return attach_pickled_future, (record.id, record.name, self.key, maker)

    def __copy__(self) -> Self:
        return type(self)(self.key, self._client, self._state)

    def __deepcopy__(self, _: Any) -> Self:
        return self.__copy__()

    def __await__(self) -> Generator[Any, None, Any]:
        return run_async(self._result(None)).__await__()

    @property
    def client(self) -> Any:
        """The `Client` that made the future."""
        return self._client

    @property
    def _connection(self) -> Link:
        return self._client._connection

    @property
    def status(self) -> str:
        """``"pending"``, ``"finished"``, ``"error"``, ``"cancelled"``, or ``"lost"`` when the cluster has ended.

        A result that is in this process already stays ``"finished"``: small ones are sent along.
        """
        return LOST if self._is_gone else self._state.status

    @property
    def nbytes(self) -> int:
        """Size of the result in bytes, 0 until it is there."""
        return self._state.nbytes

    @property
    def _is_gone(self) -> bool:
        """Whether there was a result that went with the cluster, or with the connection to it; small ones are here."""
        state = self._state
        return state.status == FINISHED and state.inline is None and bool(self._connection.closed_because)

    def done(self) -> bool:
        """Tell whether waiting is over, one way or the other."""
        return self.status != PENDING

    def cancelled(self) -> bool:
        """Tell whether the task was cancelled."""
        return self.status == CANCELLED

    def cancel(self, force: bool = False) -> None:
        """Give the task up, with all that depends on it. See `Client.cancel`."""
        self._client.cancel([self], force=force)

    def retry(self) -> None:
        """Try a failed task again, with the failed tasks that it depends on. See `Client.retry`."""
        self._client.retry([self])

    def release(self) -> None:
        """Let go of the result, as deleting the future does. It is gone when the last future of its key lets go."""
        self._state = self._state.released()

    @hides_engine_frames
    def result(self, timeout: float | str | None = None) -> Any:
        """Wait for the task and return its result.

        Parameters
        ----------
        timeout
            Seconds to wait at most, or text such as ``"2 min"``; None: as long as it takes.

        Raises
        ------
        TimeoutError
            If the result isn't here in time: computed and fetched. Or if the cluster's head doesn't answer.
        CancelledError
            If the task was cancelled.
        ClusterClosed
            If the cluster ended first.
        ForkedError
            In a forked child of the process that made the future.
        Exception
            The task's own exception, with its own traceback and a note that names the task and the line that built it.
        """
        return self._client._run(self._result(timeout))

    def exception(self, timeout: float | str | None = None) -> Any:
        """Wait for the task and return its exception, or None if it has none. Raises as `result`, but for the task's."""
        return self._client._run(self._exception(timeout))

    def traceback(self, timeout: float | str | None = None) -> Any:
        """Wait for the task and return the traceback of its exception, or None."""
        return self._client._run(self._traceback(timeout))

    def add_done_callback(self, function: Callable[[Future], Any]) -> None:
        """Call ``function(future)`` when the task is done, from a thread of the client's. What it raises is logged."""
        call = self._connection.call_user
        self._connection.when_done([self._state], lambda _: call(lambda: function(self)))

    def _result(self, timeout: float | str | None) -> Operation[Any]:
        deadline = self._deadline(timeout)
        yield from self._settle(deadline)
        raise_unless_finished(self.key, self._state, self._connection)
        (result,) = yield from self._client._fetch([self.key], [self._state], deadline)
        return result

    def _exception(self, timeout: float | str | None) -> Operation[BaseException | None]:
        yield from self._settle(self._deadline(timeout))
        if self._state.status == ERROR and self._state.failure is not None:
            return failure.restore(self._state.failure)
        raise_unless_finished(self.key, self._state, self._connection)
        return None

    def _traceback(self, timeout: float | str | None) -> Operation[Any]:
        error = yield from self._exception(timeout)
        return None if error is None else error.__traceback__

    def _deadline(self, timeout: float | str | None) -> Deadline:
        self._connection.owner.require()
        return Deadline(parse_seconds("timeout", timeout))

    def _settle(self, deadline: Deadline) -> Operation[None]:
        if self.done():
            return
        states = {self._connection: [self._state]}
        if not (yield from settled(states, self._client, deadline, 1, key_text(self.key))):
            raise TimeoutError(
                f"{key_text(self.key)} has no result after {deadline.timeout_s} s; it is still {self.status}"
            )

    def __repr__(self) -> str:
        size = f", {format_bytes(self.nbytes)}" if self.status == FINISHED else ""
        return f"<Future: {self.status}{size}, key: {key_text(self.key)}>"

    def _repr_html_(self) -> str:
        error = self._state.failure
        return render(
            "future.html.j2",
            key=key_text(self.key),
            status=self.status,
            may_change=self.status == PENDING or self.status == FINISHED and self._state.inline is None,
            size=format_bytes(self.nbytes) if self.status == FINISHED else "",
            lost_because=self._connection.closed_because if self.status == LOST else "",
            error=f"{error.exception}: {error.message}" if error is not None else "",
            origin=error.origin if error is not None else "",
        )

    def _ipython_display_(self) -> None:
        if self.status != PENDING:
            raise NotImplementedError  # IPython shows the usual repr then: nothing of it changes
        this = weakref.ref(self)  # a card must not keep a result from being let go
        card = LiveCard(lambda: _status(this()), lambda: _bundle(this()))
        card.show()
        self._connection.when_done([self._state], lambda _: card.refresh())


def _status(future: Future | None) -> str:
    return "" if future is None else future.status


def _bundle(future: Future | None) -> dict[str, str] | None:
    """Return the card of a future; None if it is gone."""
    return None if future is None else {"text/plain": repr(future), "text/html": future._repr_html_()}


class DoneAndNotDone(NamedTuple):
    """What `wait` returns: two sets of futures."""

    done: set[Future]
    not_done: set[Future]


def wait(
    fs: Any,
    timeout: float | str | None = None,
    return_when: Literal["ALL_COMPLETED", "FIRST_COMPLETED"] = "ALL_COMPLETED",
) -> Any:
    """Wait until all (or any) of some futures are done. Doesn't raise what the tasks raised.

    Parameters
    ----------
    fs
        Futures, or collections that were persisted with a client, alone or in a list.
    timeout
        Seconds to wait at most, or text such as ``"2 min"``; None: as long as it takes.
    return_when
        ``"ALL_COMPLETED"`` or ``"FIRST_COMPLETED"``.

    Returns
    -------
    DoneAndNotDone
        Two sets of futures, ``done`` and ``not_done``. Of an asynchronous client's futures: something to await.

    Raises
    ------
    TimeoutError
        If they aren't done in time; the message says which are still open.
    ValueError
        If `return_when` is something else.
    """
    if return_when not in ("ALL_COMPLETED", "FIRST_COMPLETED"):
        raise ValueError(f"return_when={return_when!r} should be 'ALL_COMPLETED' or 'FIRST_COMPLETED'")
    futures = futures_of(fs)
    steps = _parted(futures, Deadline(parse_seconds("timeout", timeout)), return_when == "FIRST_COMPLETED")
    return futures[0].client._run(steps) if futures else run_sync(steps)


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
    if hasattr(type(value), "__dask_graph__"):
        return [node for node in dict(value.__dask_graph__()).values() if isinstance(node, Future)]
    raise TypeError(f"expected futures or a persisted collection, got {type(value).__name__}: {value!r}")


def raise_unless_finished(key: Key, state: KeyState, connection: Link) -> None:
    """Raise what kept a key from having a result."""
    if state.status == ERROR and state.failure is not None:
        raise failure.harmless(failure.restore(state.failure))
    if state.status == CANCELLED:
        raise CancelledError(_why_cancelled(key, state))
    if state.status == LOST:
        connection.owner.require()
        raise ClusterClosed(f"{key_text(key)} is lost: {connection.closed_because}")


def _why_cancelled(key: Key, state: KeyState) -> str:
    """Return how a future came to have no result, as far as this client knows."""
    text = key_text(key)
    if state.is_cancelling:
        return f"task {text} was cancelled by this client"
    if state.is_released:
        return f"the future of task {text} was released before the task had a result"
    return f"task {text} was cancelled, or its result was released before"


def by_connection(futures: Iterable[Future]) -> dict[Link, list[Future]]:
    """Return futures by the connection that has asked for them: the head may know them by no other."""
    found: dict[Link, list[Future]] = {}
    for future in futures:
        found.setdefault(future._connection, []).append(future)
    return found


def states_of(futures: Sequence[Future]) -> dict[Link, list[KeyState]]:
    """Return the states of futures by the connection that tells of them."""
    if len(set(map(_client_of, futures))) == 1:
        return {futures[0]._connection: list(map(_state_of, futures))}
    states: dict[Link, list[KeyState]] = {}
    for future in futures:
        states.setdefault(future._connection, []).append(future._state)
    return states


def settled(
    states: Mapping[Link, Sequence[KeyState]],
    client: ClientBase,
    deadline: Deadline,
    n_wanted: int,
    what: str,
    *,
    stops_at_failure: bool = False,
) -> Operation[bool]:
    """Wait until `n_wanted` keys are done, or one has failed if that is enough; return whether that is so.

    Warns if there is no worker to do it.

    Parameters
    ----------
    states
        Of the keys, by the connection that tells of them.
    client
        One of those that wait.
    what
        What is waited for, for messages.
    """
    if not n_wanted:
        return True
    enough = _Countdown(n_wanted, stops_at_failure)
    try:
        for connection, theirs in states.items():
            connection.owner.require()
            connection.when_done(theirs, enough.count)
        return (yield from happens(enough.signal, deadline, client, what))
    finally:
        if not enough.is_complete:
            for connection, theirs in states.items():
                connection.forget_callback(theirs, enough.count)


def happens(signal: Signal, deadline: Deadline, client: ClientBase, what: str) -> Operation[bool]:
    """Wait for what tasks of a client's make happen; return whether it has.

    Warns if there is no worker to do it; raises TimeoutError if the head doesn't answer.
    """
    needs_workers = current_worker() is None  # else there is one
    name = client.name if needs_workers else None
    watch = HeadWatch(client._connection, what, name, client._way_to_more_workers())
    return (yield WaitFor(signal, deadline.left_s, for_tasks=True, watch=watch))


def send_for(connection: Link, message: messages.FromClient, futures: Sequence[Future]) -> None:
    """Send a message that asks for the keys of futures which no one else knows yet."""
    connection.send(message, [future._state for future in futures])


def attach_pickled_future(
    cluster_id: str, cluster_name: str, key: Key, maker: tuple[int, int] = messages.NO_MAKER
) -> Future:
    """Return a future of a key that another process, or this one, has pickled. Doesn't wait. Pickles refer to this name.

    Parameters
    ----------
    maker
        The client that pickled it, and the number of the message in which that asked for the key.

    Raises
    ------
    ClusterClosed
        If this process has no open client of the cluster.
    ForkedError
        If it is a forked child that has only its parent's.
    """
    client = client_of(cluster_id, cluster_name, key)
    connection = client._connection
    state, is_new = connection.attach(key)
    future = Future(key, client, state)
    if is_new:
        connection.send(messages.Attach([key], maker), [state], waits=False)
    return future


def still_open(futures: Iterable[Future]) -> str:
    """Return the keys of those futures that aren't done, for a message."""
    keys = [key_text(future.key) for future in futures if not future.done()]
    more = f" and {len(keys) - _MAX_NAMED} more" if len(keys) > _MAX_NAMED else ""
    return ", ".join(keys[:_MAX_NAMED]) + more


class _Countdown:
    """Gives its signal when it has counted as far as it should, or at the first failure if that is enough. Thread-safe."""

    def __init__(self, n_wanted: int, stops_at_failure: bool) -> None:
        self.signal = Signal()
        self.is_complete = False
        self._n_wanted = n_wanted
        self._stops_at_failure = stops_at_failure
        self._counted = bytearray()
        """A byte for each: it grows in one step, whichever thread counts."""

    def count(self, states: Sequence[KeyState]) -> None:
        self._counted.extend(bytes(len(states)))
        if len(self._counted) >= self._n_wanted:
            self.is_complete = True
            self.signal.set()
        elif self._stops_at_failure and any([state.status != FINISHED for state in states]):
            self.signal.set()


def describe_wait(n_wanted: int, n_futures: int, first: Key) -> str:
    """Return what a wait for futures is called in messages."""
    return key_text(first) if n_futures == 1 else f"{n_wanted} of {n_futures} futures"


def _parted(futures: list[Future], deadline: Deadline, first_is_enough: bool) -> Operation[DoneAndNotDone]:
    n_wanted = min(1, len(futures)) if first_is_enough else len(futures)
    if n_wanted:
        what = describe_wait(n_wanted, len(futures), futures[0].key)
        in_time = yield from settled(states_of(futures), futures[0]._client, deadline, n_wanted, what)
    if n_wanted and not in_time:
        n_done = sum(future.done() for future in futures)
        raise TimeoutError(
            f"{n_done} of {len(futures)} futures are done after {deadline.timeout_s} s; still open: {still_open(futures)}"
        )
    done = {future for future in futures if future.done()}
    return DoneAndNotDone(done, set(futures) - done)
