"""`RemoteLink`: a client's link to a cluster of dask.distributed, through a client of that.

Futures of ours stand for those of dask.distributed, which are held as long as ours are. Our messages are put into its calls
(`remote_answers.py`); what it can't do is an error that says so. One thread lets go of results whose futures are gone; calls of
dask.distributed's own thread tell of results.
"""

from __future__ import annotations

import asyncio
import threading
import uuid
import warnings
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from time import monotonic, sleep, time
from typing import Any, NamedTuple

import distributed
import msgspec
from dask._expr import LLGExpr
from distributed.comm.core import CommClosedError
from glassloom_metrics.registry import ClusterRecord

from glassloom import config
from glassloom._ownership import OwnerProcess
from glassloom._supervision import Crash, start_thread
from glassloom.client.blocking import Operation, Signal, WaitFor, run_sync
from glassloom.client.callbacks import UserCallbacks
from glassloom.client.deadline import Deadline
from glassloom.client.head_watch import HeadWatch
from glassloom.client.key_table import CANCELLED, ERROR, NOT_SENT, PENDING, KeyState, KeyTable
from glassloom.client.known_workers import KnownWorkers
from glassloom.distributed import connecting, remote_answers
from glassloom.distributed.client_attachment import ClientAttachment
from glassloom.distributed.connecting import connect, scheduler_of
from glassloom.distributed.gathering import gathered
from glassloom.distributed.missing_modules import WorkersModules, explain_missing_here, explained
from glassloom.distributed.remote_names import WorkerNumbers, lack_of_resources, nowhere
from glassloom.distributed.remote_runs import OPERATION, RemoteRuns
from glassloom.distributed.remote_workers import prepare, require_same_pythons
from glassloom.distributed.silent_workers import SilentWorkers
from glassloom.distributed.task_specs import SpecGraph, TaskSpecEncoder, cycle_error
from glassloom.distributed.unsendable import naming_what_cannot_be_sent, of_result
from glassloom.errors import CancelledError, ClusterClosed, ClusterError, DataLost, GlassloomError, GraphError
from glassloom.graph import Key, key_layer, key_text, random_token
from glassloom.protocol import failure, messages
from glassloom.protocol.annotations import Annotations
from glassloom.protocol.coordination import Op, Outcome
from glassloom.protocol.failure import Failure

_ATTACH_S = 10.0
_NOTE_S = 2.0
_LOST_SCHEDULER = "the connection to the scheduler was lost"
_CLOSED_OR_LOST = "the distributed.Client that it was made from was closed, or lost its scheduler"
_RELEASE_BOUND_S = 5.0
_POLL_S = 0.02
_KNOWN_S = 5.0
"""How long a key that no future is known of may be unknown to the scheduler."""


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


class Inputs(NamedTuple):
    """What a graph refers to and doesn't make: the keys, and futures of other clients that keep some of them."""

    keys: list[Key]
    foreign: list[Any]


class _NoQuickTasks:
    """Calls that are submitted one by one go the general way."""

    def task(self, function: Any, args: tuple[Any, ...], key: Key | None, handling: Annotations, *, pure: bool) -> None:
        return None


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
        self.quick_calls = _NoQuickTasks()
        self.runs: RemoteRuns
        self._attachment: ClientAttachment | None = None
        self.record: ClusterRecord
        self.welcome: messages.Welcome
        self.dask: distributed.Client
        self._is_own = False
        self._dropped: SimpleQueue[Any] = SimpleQueue()
        self._keys = KeyTable(self._dropped.put)
        self._futures: dict[Key, distributed.Future] = {}
        self._placed: set[Key] = set()
        """Those of `_futures` that are of scattered values."""
        self._lock = threading.Lock()
        """Held while a key gets its future, or a key that nothing holds loses it."""
        self._closing = threading.Lock()
        """Held while dask.distributed's client is closed, which two threads can't do at once."""
        self._callbacks = UserCallbacks()
        self._n_sent = 0
        self.heard_s = monotonic()
        """When the scheduler answered, or told of a result, last. dask.distributed doesn't notice a network that takes all and brings nothing."""
        self.numbers = WorkerNumbers()
        self._silent = SilentWorkers()
        self._modules = WorkersModules()
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
            require_same_pythons(self.dask, address)
            prepare(self.dask, address)
        except BaseException:
            self._close_dask()
            raise
        security, self._target, self._security = self._security, None, None
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
        info = remote_answers.info_of(self.dask, self.numbers, 0)
        self.workers.note(info)
        self.welcome = messages.Welcome(identity, address, "", "", uuid.uuid4().int >> 96, info)
        self.runs = RemoteRuns(identity, lambda: self.attached_record(_ATTACH_S))
        if config.get("distributed.attach"):
            self._attachment = ClientAttachment(address, identity, security or self.dask.security)
        start_thread("glassloom-remote", self._let_go, on_crash=self._crashed)

    def attached_record(self, timeout_s: float = 0.0) -> ClusterRecord | None:
        """Return the record by which panel and dashboards show the cluster, None if there is none within a time."""
        return None if self._attachment is None else self._attachment.record(timeout_s)

    def check_open(self) -> None:
        """Raise if the link can't be used."""
        self.owner.require()
        if not self.closed_because and self.dask.status in ("closed", "closing"):
            self._end(self._why_closed())
        if self.closed_because:
            raise ClusterClosed(f"the client is closed: {self.closed_because}")

    def close(self, reason: str) -> None:
        """End the link; what waits for a key is woken. A client that was given stays open."""
        if not self.owner.is_current or not hasattr(self, "dask"):
            return
        if not self.closed_because:
            self._end(reason)
            for future in list(self._futures.values()):
                future.release()
            self._futures.clear()
        self._close_dask()

    def close_soon(self, reason: str) -> None:
        """End the link without waiting. Takes no lock: the garbage collector may call it."""
        self.closed_because = self.closed_because or reason
        self._dropped.put(None)
        if self._attachment is not None:
            self._attachment.close()

    def _close_dask(self) -> None:
        if self._is_own:
            with self._closing:
                connecting.close(self.dask)

    def _end(self, reason: str) -> None:
        self.closed_because = self.closed_because or reason
        if self._attachment is not None:
            self._attachment.close()
        self._keys.end_all()
        self._dropped.put(None)
        self.workers.note_end()

    def _crashed(self, crash: Crash) -> None:
        self._end(crash.reason)

    def head(self) -> str:
        """Describe the scheduler, for messages."""
        return f"the scheduler of dask.distributed at {self.record.name}"

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
        workers = self._workers_for(message, states) if handling.workers or handling.resources else None
        if workers == [] and not handling.allow_other_workers:
            return
        if not handling.resources:  # else it isn't known who will run them
            self._modules.require(self.dask, message.tasks.values(), workers)
        self._note_run(message, run)
        self._release_before(message, states)
        foreign = {key: handle for key, handle in message.external.items() if key not in self._futures}
        self._wait_until_known(foreign)
        tasks: dict[Key, Any] = message.tasks | {key: distributed.Future(key, self.dask) for key in foreign}
        with naming_what_cannot_be_sent(message.tasks):
            found: list[distributed.Future] = self.dask.get(
                # With a token of its own: else Dask pickles each task three times to hash it, which takes longer than all the rest.
                LLGExpr(tasks, _determ_token=random_token()),
                message.wanted,
                sync=False,
                priority=handling.priority,
                retries=handling.retries or None,
                resources=dict(handling.resources) or None,
                workers=workers or None,
                allow_other_workers=(handling.allow_other_workers and bool(workers)) or None,
            )
        inputs = Inputs(list(message.external), list(foreign.values()))
        self.adopt(zip(message.wanted, found, states, strict=True), message.origins, inputs)

    def _workers_for(self, message: SpecGraph, states: Sequence[KeyState]) -> list[str] | None:
        """Return the addresses of the workers that may run a graph, None for all. If none of them is there, its results are errors."""
        handling = message.handling
        there = self.waited(partial(scheduler_of(self.dask).identity, n_workers=-1), "which workers there are")[
            "workers"
        ]
        if handling.resources and (lack := lack_of_resources(dict(handling.resources), there)):
            warnings.warn(lack, stacklevel=2)
        if not handling.workers:
            return None
        chosen = self.numbers.chosen(handling.workers, there)
        addresses = list({address: None for found in chosen.values() for address in found})
        if not addresses and not handling.allow_other_workers:
            self._fail_all(message, states, nowhere(message.wanted[0], handling.workers))
        return addresses

    def _fail_all(self, message: SpecGraph, states: Sequence[KeyState], error: GlassloomError) -> None:
        """Let the results of a graph be an error, without handing it over."""
        self._n_sent += 1
        self._keys.mark_sent(states, self._n_sent)
        for key in dict.fromkeys(message.wanted):
            origin = message.origins.get(key_layer(key), "")
            described = msgspec.structs.replace(failure.own_failure(error), key=key_text(key), origin=origin)
            self._keys.end([key], ERROR, described, self._n_sent)

    def _release_before(self, message: SpecGraph, states: Sequence[KeyState]) -> None:
        """Release what has been let go of under the names of tasks that are submitted: they may be other tasks by now."""
        if not self._dropped.empty():
            handled = threading.Event()
            self._dropped.put(handled)
            handled.wait(_RELEASE_BOUND_S)
        with self._lock:
            former = [
                self._futures.pop(key)
                for key, state in zip(message.wanted, states, strict=True)
                if state.sent_as == NOT_SENT and key in self._futures
            ]
        for future in former:
            future.release()
        if not self.dask.futures.keys().isdisjoint(message.tasks):  # it counts in its own thread, later

            async def wait() -> None:
                pass

            asyncio.run_coroutine_threadsafe(wait(), self._loop).result(_RELEASE_BOUND_S)

    def _wait_until_known(self, foreign: Mapping[Key, Any]) -> None:
        """Wait for the scheduler to hear of results that another client has asked for, over a connection of its own.

        Where only a key is referred to, not a future, it may also be one that nothing makes.
        """
        patient, brief = Deadline(config.get("timeouts.request")), Deadline(_KNOWN_S)
        keys = list(foreign)
        while keys:
            ask = partial(scheduler_of(self.dask).get_task_status, keys=list(keys))
            known = self.waited(ask, "which results there are")
            keys = [key for key in keys if known.get(key) is None]
            if keys and patient.left_s == 0:
                raise CancelledError(f"{self.head()} doesn't know {key_text(keys[0])}, which a task refers to")
            if brief.left_s == 0 and (unmade := [key for key in keys if foreign[key] is None]):
                raise GraphError(
                    f"the graph needs {unmade[0]!r}, which no task makes, and {self.head()} doesn't know it"
                )
            if keys:
                sleep(_POLL_S)

    @property
    def _loop(self) -> asyncio.AbstractEventLoop:
        loop: asyncio.AbstractEventLoop = self.dask.loop.asyncio_loop  # type: ignore[union-attr]
        return loop

    def _note_run(self, message: SpecGraph, run: int) -> None:
        """Tell the plugin, if the cluster is shown, of the run that a graph begins: it must know before the graph comes."""
        if self.attached_record() is None:
            return
        note = self.runs.note(run, next(iter(message.wanted), None), message.origins)
        if note is not None:
            with suppress(OSError, TimeoutError):  # what is shown must not break what is computed
                tell = getattr(scheduler_of(self.dask), OPERATION)
                self.dask.sync(tell, client=self.dask.id, callback_timeout=_NOTE_S, **note)

    def submit_single(self, task: Any, state: KeyState) -> None:
        """Not called: see `_NoQuickTasks`."""
        raise NotImplementedError

    def adopt(
        self,
        futures: Iterable[tuple[Key, distributed.Future, KeyState]],
        origins: Any = None,
        inputs: Inputs | None = None,
    ) -> None:
        """Let states follow futures of dask.distributed, which are held as long as the states are; `inputs` until these are done."""
        self._n_sent += 1
        number = self._n_sent
        for key, future, state in dict((key, (key, future, state)) for key, future, state in futures).values():
            with self._lock:
                self._futures[key] = future
                self._keys.mark_sent([state], number)  # from here on what held the key before doesn't give it back
            origin = (origins or {}).get(key_layer(key), "")
            future.add_done_callback(partial(self._settled, key, number, origin, inputs))

    def note_placed(self, keys: Iterable[Key]) -> None:
        """These values were scattered: nothing can compute them again."""
        self._placed.update(keys)

    def _lost_value(self, keys: Iterable[Key]) -> DataLost | None:
        """Return the error of the first of `keys` that was scattered and is gone, None if there is none."""
        for key in keys:
            future = self._futures.get(key)
            if key in self._placed and future is not None and future.status in ("cancelled", "lost"):
                return DataLost(
                    f"{key_text(key)} was scattered and is lost: no worker of {self.head()} has it any more, as the one that had it "
                    "ended or was restarted. Scatter it again; with broadcast=True each worker keeps it"
                )
        return None

    def _raise_if_lost(self, keys: Iterable[Key]) -> None:
        if (lost := self._lost_value(keys)) is not None:
            raise lost

    def _settled(self, key: Key, number: int, origin: str, inputs: Inputs | None, future: distributed.Future) -> None:
        """A future is done. Called in a thread of dask.distributed's."""
        self.heard_s = monotonic()
        if self.closed_because:  # what had no result is lost already
            return
        status = future.status
        if status == "finished":
            self._keys.finish([key], [0], [None], number)
        elif status == "error":
            self._keys.end([key], ERROR, self._failure(key, origin, future), number)
        elif status == "cancelled" and self.dask.status == "running":
            lost = None if inputs is None else self._lost_value(inputs.keys)
            if lost is None:
                self._keys.end([key], CANCELLED, None, number)
            else:
                described = msgspec.structs.replace(failure.own_failure(lost), key=key_text(key), origin=origin)
                self._keys.end([key], ERROR, described, number)
        else:
            self._end(self._why_closed())

    def _why_closed(self) -> str:
        return _LOST_SCHEDULER if self._is_own else _CLOSED_OR_LOST

    def _failure(self, key: Key, origin: str, future: distributed.Future) -> Failure:
        error = failure.repaired(future.exception() or RuntimeError("unknown"))
        cause = None
        with suppress(OSError, TimeoutError):  # without it the error is the same
            cause = self.dask.sync(
                scheduler_of(self.dask).get_error_cause, keys=[key], callback_timeout=config.get("timeouts.request")
            )
        cause = tuple(cause) if isinstance(cause, list) else cause
        error = cycle_error(error) or explained(self.dask, cause or key, error)
        try:
            raise error.with_traceback(future.traceback())  # `describe` leaves the first frame out: this one
        except BaseException as raised:  # whatever the user's code has raised
            described = failure.describe(raised)
        return msgspec.structs.replace(described, key=key_text(cause or key), origin=origin)

    def cancel(self, keys: Sequence[Key], states: Sequence[KeyState], *, force: bool) -> None:
        """Give tasks up."""
        self.check_open()
        futures = [self._futures[key] for key in keys if key in self._futures]
        self.waited(lambda: self.dask.cancel(futures, force=force, asynchronous=True), "the cancellation of tasks")
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
        self.check_open()
        futures = [self._futures.get(key) or self.future_of_other(key) for key in keys]
        try:
            return (yield from self.awaited(lambda: gathered(self.dask, futures), deadline, "results"))
        except distributed.CancelledError as error:
            self.check_open()
            self._raise_if_lost(keys)
            raise CancelledError(f"a result was cancelled or lost while it was fetched: {error}") from error
        except ImportError as error:
            explain_missing_here(error)
            raise
        except TypeError as error:
            raise of_result(keys, error) or error from None

    def awaited(self, start: Callable[[], Awaitable[Any]], deadline: Deadline, what: str) -> Operation[Any]:
        """Wait for something that is awaited in dask.distributed's event loop; return what it gives."""
        done = Signal()

        async def run() -> Any:
            return await start()

        running = asyncio.run_coroutine_threadsafe(run(), self._loop)
        running.add_done_callback(lambda _: done.set())
        try:
            if not (yield WaitFor(done, deadline.left_s, for_tasks=True, watch=HeadWatch(self, what))):
                raise TimeoutError(self._late(what, deadline))
        except BaseException:
            running.cancel()
            raise
        try:
            return running.result()
        except OSError as error:
            if not isinstance(error, TimeoutError) and self.dask.status != "running":  # nothing waited when it was lost
                self._end(self._why_closed())
                raise ClusterClosed(f"the client is closed: {self.closed_because} ({error})") from error
            if isinstance(error, CommClosedError):
                raise ClusterError(
                    f"the connection to {self.head()}, or to a worker, broke off ({what}): {error}"
                ) from error
            raise

    def _late(self, what: str, deadline: Deadline) -> str:
        """Say what didn't come in time, and why if that is known."""
        text = f"{self.head()} didn't answer ({what}) within {deadline.timeout_s:g} s"
        why = self._silent.describe(monotonic()) or ("it has no workers" if self._silent.are_none else "")
        return f"{text}; {why}" if why else text

    def waited(self, start: Callable[[], Awaitable[Any]], what: str) -> Any:
        """Wait in this thread, as long as the scheduler answers, for something that is awaited in dask.distributed's event loop."""
        return run_sync(self.awaited(start, Deadline(None), what))

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
            message = make(0)
            if isinstance(message, messages.Ping):
                identity = await scheduler_of(self.dask).identity(n_workers=-1)
                self.heard_s = monotonic()
                self._silent.note(identity["workers"], self.heard_s)
                return self._silent.describe(self.heard_s) or messages.Ack(message.request)
            answer = await asyncio.to_thread(remote_answers.answer, self, message)
            self.heard_s = monotonic()
            if isinstance(answer, messages.Info):
                self.workers.note(answer)
            return answer

        running = asyncio.run_coroutine_threadsafe(run(), self._loop)
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
            if isinstance(dropped, threading.Event):
                dropped.set()
                continue
            with self._lock:
                keys = self._keys.drop([dropped])
                gone = [self._futures.pop(key, None) for key in keys]
                self._placed.difference_update(keys)
            for future in gone:
                if future is not None:
                    future.release()
        self._end(self.closed_because)
        self._close_dask()  # perhaps it tries to reach a lost scheduler

    def future_of_other(self, key: Key) -> distributed.Future:
        """Return a future of a result that another client has asked for."""
        # Made before the scheduler's answer, which says once that the result is there.
        future: distributed.Future = distributed.Future(key, self.dask)
        self.dask._send_to_scheduler({"op": "client-desires-keys", "keys": [key], "client": self.dask.id})
        return future

    def future_of(self, key: Key) -> distributed.Future | None:
        """Return the future that stands for a key, if this client has it."""
        return self._futures.get(key)
