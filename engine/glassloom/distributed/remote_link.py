"""`RemoteLink`: a client's link to a cluster of dask.distributed, through a client of that.

Futures of ours stand for those of dask.distributed, which are held as long as ours are. Our messages are put into its calls
(`remote_answers.py`); what it can't do is an error that says so. One thread lets go of results whose futures are gone; calls of
dask.distributed's own thread tell of results.
"""

from __future__ import annotations

import asyncio
import threading
import uuid
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from queue import SimpleQueue
from time import monotonic, time
from typing import Any

import distributed
import msgspec
from glassloom_metrics.registry import ClusterRecord

from glassloom import config
from glassloom._ownership import OwnerProcess
from glassloom._supervision import Crash, start_thread
from glassloom.client.blocking import Operation, Signal, WaitFor
from glassloom.client.callbacks import UserCallbacks
from glassloom.client.deadline import Deadline
from glassloom.client.key_table import CANCELLED, ERROR, PENDING, KeyState, KeyTable
from glassloom.client.known_workers import KnownWorkers
from glassloom.distributed import remote_answers
from glassloom.distributed.connecting import connect, scheduler_of
from glassloom.distributed.remote_workers import prepare
from glassloom.distributed.task_specs import SpecGraph, TaskSpecEncoder
from glassloom.errors import ClusterClosed
from glassloom.graph import Key, Origin, key_layer, key_text
from glassloom.protocol import failure, messages
from glassloom.protocol.annotations import Annotations
from glassloom.protocol.coordination import Op, Outcome
from glassloom.protocol.failure import Failure

_LOST_SCHEDULER = "the connection to the scheduler was lost"


class Placed:
    """A value to scatter, and to where."""

    def __init__(self, value: Any, workers: Any, broadcast: bool) -> None:
        self.value, self.workers, self.broadcast = value, workers, broadcast
        self.nbytes = int(distributed.utils.sizeof(value)) if hasattr(distributed.utils, "sizeof") else 0


class _Placer:
    def __init__(self, workers: Any, broadcast: bool) -> None:
        self._workers, self._broadcast = workers, broadcast

    def place(self, value: Any) -> Placed:
        return Placed(value, self._workers, self._broadcast)


class _NoQuickTasks:
    """Calls that are submitted one by one go the general way."""

    def task(self, function: Any, args: tuple[Any, ...], key: Key | None, handling: Annotations, *, pure: bool) -> None:
        return None


class _NoRuns:
    """The scheduler over there knows no runs."""

    def begin(self, kind: str, origin: Origin | None = None) -> int:
        return 0

    def of_line(self, line: str, origin: Origin | None) -> int:
        return 0


class RemoteLink:
    """A link to a cluster of dask.distributed. It does nothing until `open`.

    Parameters
    ----------
    target, security
        See `connecting.connect`.
    """

    def __init__(self, target: Any, security: Any = None) -> None:
        self._target, self._security = target, security
        self.owner = OwnerProcess("client of a cluster of dask.distributed")
        self.closed_because = ""
        self.dashboard = ""
        self.workers = KnownWorkers()
        self.quick_calls, self.runs = _NoQuickTasks(), _NoRuns()
        self.record: ClusterRecord
        self.welcome: messages.Welcome
        self.dask: distributed.Client
        self._is_own = False
        self._dropped: SimpleQueue[Any] = SimpleQueue()
        self._keys = KeyTable(self._dropped.put)
        self._futures: dict[Key, distributed.Future] = {}
        self._lock = threading.Lock()
        """Held while a key gets its future, or a key that nothing holds loses it."""
        self._callbacks = UserCallbacks()
        self._n_sent = 0
        self.hold, self.hold_all = self._keys.hold, self._keys.hold_all
        self.holds, self.attach, self.let_go = self._keys.holds, self._keys.attach, self._keys.let_go
        self.note_scattered, self.forget_callback = self._keys.note_scattered, self._keys.forget_callback
        self.when_done = self._keys.when_done
        self.call_user = self._callbacks.call

    # Opening and closing

    def open(self) -> None:
        """Connect, and see that the workers can run our tasks. Raises as `connect` and `prepare`."""
        self.dask, self._is_own, address = connect(self._target, self._security)
        try:
            prepare(self.dask, address)
        except BaseException:
            if self._is_own:
                self.dask.close()
            raise
        self._target = self._security = None
        self.dashboard = self.dask.dashboard_link or ""
        identity = str(self.dask.scheduler_info().get("id", address))
        self.record = ClusterRecord(
            id=identity,
            name=address,
            kind="distributed",
            pid=0,
            pid_started_s=0.0,
            socket=address,
            secret="",
            started_at_s=time(),
            directory="",
            shm_prefix="",
        )
        info = remote_answers.info_of(self.dask, 0)
        self.workers.note(info)
        self.welcome = messages.Welcome(identity, address, "", "", uuid.uuid4().int >> 96, info)
        start_thread("glassloom-remote", self._let_go, on_crash=self._crashed)

    def check_open(self) -> None:
        """Raise if the link can't be used."""
        self.owner.require()
        if not self.closed_because and self.dask.status in ("closed", "closing"):
            self._end(_LOST_SCHEDULER)
        if self.closed_because:
            raise ClusterClosed(f"the client is closed: {self.closed_because}")

    def close(self, reason: str) -> None:
        """End the link; what waits for a key is woken. A client that was given stays open."""
        if not self.owner.is_current or self.closed_because or not hasattr(self, "dask"):
            return
        self._end(reason)
        for future in list(self._futures.values()):
            future.release()
        self._futures.clear()
        if self._is_own:
            self.dask.close()

    def close_soon(self, reason: str) -> None:
        """End the link without waiting. Takes no lock: the garbage collector may call it."""
        self.closed_because = self.closed_because or reason
        self._dropped.put(None)

    def _end(self, reason: str) -> None:
        self.closed_because = self.closed_because or reason
        self._keys.end_all()
        self._dropped.put(None)
        self.workers.note_end()

    def _crashed(self, crash: Crash) -> None:
        self._end(crash.reason)

    def head(self) -> str:
        """Describe the scheduler, for messages."""
        return f"the scheduler of dask.distributed at {self.record.name}"

    @property
    def heard_s(self) -> float:
        """When the scheduler said something last: dask.distributed itself looks after the connection."""
        return monotonic()

    @property
    def holds_results(self) -> bool:
        """Whether there is a future of this client."""
        return self._keys.holds_results

    # Tasks

    def encoder(self, place_large: Callable[[Any], Key], function_tokens: Any) -> TaskSpecEncoder:
        """Return what turns tasks into Dask's specification. Large arguments travel in it, each once."""
        return TaskSpecEncoder()

    def submit(self, message: SpecGraph, states: Sequence[KeyState], run: int) -> None:
        """Hand a graph over. The states are those of the wanted keys."""
        self.check_open()
        handling = message.handling
        unknown = [key for key in message.external if key not in self._futures]
        found: list[distributed.Future] = self.dask.get(
            message.tasks | {key: distributed.Future(key, self.dask) for key in unknown},
            message.wanted,
            sync=False,
            priority=handling.priority,
            retries=handling.retries or None,
            resources=dict(handling.resources) or None,
            workers=[str(worker) for worker in handling.workers] or None,
            allow_other_workers=handling.allow_other_workers or None,
        )
        self.adopt(zip(message.wanted, found, states, strict=True), message.origins)

    def submit_single(self, task: Any, state: KeyState) -> None:
        """Not called: see `_NoQuickTasks`."""
        raise NotImplementedError

    def adopt(self, futures: Iterable[tuple[Key, distributed.Future, KeyState]], origins: Any = None) -> None:
        """Let states follow futures of dask.distributed, which are held as long as the states are."""
        self._n_sent += 1
        number = self._n_sent
        for key, future, state in dict((key, (key, future, state)) for key, future, state in futures).values():
            with self._lock:
                self._futures[key] = future
                self._keys.mark_sent([state], number)  # from here on what held the key before doesn't give it back
            origin = (origins or {}).get(key_layer(key), "")
            future.add_done_callback(partial(self._settled, key, number, origin))

    def _settled(self, key: Key, number: int, origin: str, future: distributed.Future) -> None:
        """A future is done. Called in a thread of dask.distributed's."""
        if self.closed_because:  # what had no result is lost already
            return
        status = future.status
        if status == "finished":
            self._keys.finish([key], [0], [None], number)
        elif status == "error":
            self._keys.end([key], ERROR, self._failure(key, origin, future), number)
        elif status == "cancelled" and self.dask.status == "running":
            self._keys.end([key], CANCELLED, None, number)
        else:
            self._end(_LOST_SCHEDULER)

    def _failure(self, key: Key, origin: str, future: distributed.Future) -> Failure:
        error = future.exception() or RuntimeError("unknown")
        cause = self.dask.sync(scheduler_of(self.dask).get_error_cause, keys=[key])
        cause = tuple(cause) if isinstance(cause, list) else cause
        try:
            raise error.with_traceback(future.traceback())  # `describe` leaves the first frame out: this one
        except BaseException as raised:  # whatever the user's code has raised
            described = failure.describe(raised)
        return msgspec.structs.replace(described, key=key_text(cause or key), origin=origin)

    def cancel(self, keys: Sequence[Key], states: Sequence[KeyState], *, force: bool) -> None:
        """Give tasks up."""
        self.check_open()
        futures = [self._futures[key] for key in keys if key in self._futures]
        self.dask.cancel(futures, force=force)
        self._keys.note_cancelling(states)
        self._keys.end(list(keys), CANCELLED, None, self._n_sent)

    def forget_all(self) -> None:
        """The cluster has forgotten all results."""
        self._keys.end(list(self._futures), CANCELLED, None, self._n_sent)

    def cancel_all(self, *, force: bool) -> Operation[int]:
        """Give up all unfinished tasks of this client; return how many there were."""
        pending = {
            key: state for key, state in self._keys.states_of(list(self._futures)).items() if state.status == PENDING
        }
        self.cancel(list(pending), list(pending.values()), force=force)
        return len(pending)
        yield  # an operation that doesn't wait

    def sent_as(self, state: KeyState) -> int:
        """Return the number of the message that asks for a key."""
        return state.sent_as

    # Results

    def placer(self, workers: Any, *, broadcast: bool) -> _Placer:
        """Return what notes values to scatter, and to which workers."""
        return _Placer(workers, broadcast)

    def fetch(self, keys: Sequence[Key], states: Sequence[KeyState], deadline: Deadline) -> Operation[list[Any]]:
        """Return the results of keys that are finished."""
        for state in states:
            if state.status == ERROR and state.failure is not None:
                raise failure.harmless(failure.restore(state.failure))
        futures = [self._futures[key] for key in keys]
        return (yield from self.awaited(lambda: self.dask.gather(futures, asynchronous=True), deadline, "results"))

    def awaited(self, start: Callable[[], Awaitable[Any]], deadline: Deadline, what: str) -> Operation[Any]:
        """Wait for something that is awaited in dask.distributed's event loop; return what it gives."""
        done = Signal()

        async def run() -> Any:
            return await start()

        running = asyncio.run_coroutine_threadsafe(run(), self.dask.loop.asyncio_loop)  # type: ignore[union-attr]
        running.add_done_callback(lambda _: done.set())
        try:
            if not (yield WaitFor(done, deadline.left_s, for_tasks=True)):
                raise TimeoutError(f"{self.head()} didn't answer ({what}) within {deadline.timeout_s:g} s")
        except BaseException:
            running.cancel()
            raise
        return running.result()

    # Messages

    def send(self, message: messages.FromClient, states: Sequence[KeyState] = (), *, waits: bool = True) -> None:
        """Do what a message that isn't answered says."""
        self.check_open()
        remote_answers.obey(self, message, states)

    def ask(
        self,
        make: Callable[[int], messages.FromClient],
        what: str,
        *,
        deadline: Deadline | None = None,
        waits_for_work: bool = False,
    ) -> Operation[Any]:
        """Do what a message says, and return the answer that our own head would give."""
        self.check_open()
        if deadline is None:
            deadline = Deadline(None if waits_for_work else config.get("timeouts.request"))
        message = make(0)
        return (
            yield from self.awaited(lambda: asyncio.to_thread(remote_answers.answer, self, message), deadline, what)
        )

    def ask_all(
        self, questions: Iterable[Callable[[int], messages.FromClient]], deadline: Deadline
    ) -> Operation[list[Any]]:
        """Ask several questions."""
        answers = []
        for make in questions:
            answers.append((yield from self.ask(make, "a question", deadline=deadline)))
        return answers

    def post_question(self, make: Callable[[int], messages.FromClient]) -> Callable[[], Any]:
        """Ask without waiting; return what tells the answer, None as long as there is none."""
        self.check_open()

        async def run() -> Any:
            answer = await asyncio.to_thread(remote_answers.answer, self, make(0))
            if isinstance(answer, messages.Info):
                self.workers.note(answer)
            return answer

        running = asyncio.run_coroutine_threadsafe(run(), self.dask.loop.asyncio_loop)  # type: ignore[union-attr]
        return lambda: running.result() if running.done() and running.exception() is None else None

    def negotiate(
        self, op: Op, timeout_s: float | None = None, receive: Callable[[int, Outcome], Any] | None = None
    ) -> Operation[Any]:
        """Ask for something that is agreed on by name: datasets."""
        self.check_open()
        deadline = Deadline(config.get("timeouts.request"))
        outcome, _kept = yield from self.awaited(
            lambda: asyncio.to_thread(remote_answers.agree, self, op), deadline, "datasets"
        )
        return outcome if receive is None else receive(0, outcome)

    # In the thread that lets go

    def _let_go(self) -> None:
        while (dropped := self._dropped.get()) is not None:
            with self._lock:
                gone = [self._futures.pop(key, None) for key in self._keys.drop([dropped])]
            for future in gone:
                if future is not None:
                    future.release()
        if self._is_own and self.dask.status == "running":
            self._end(self.closed_because)
            self.dask.close()

    def future_of(self, key: Key) -> distributed.Future | None:
        """Return the future that stands for a key, if this client has it."""
        return self._futures.get(key)
