"""A client's end of the connection to a head.

Two threads own the socket: one reads (and closes it at the end), one writes (see `Outbox`). Callers put whole messages into
a queue and wait for what comes of them, so that an interrupt, which Python raises in the main thread only, strikes code
that owns nothing. Thread-safe. In a forked child a connection is closed.
"""

from __future__ import annotations

import atexit
import contextlib
import itertools
import os
import socket
import weakref
from collections.abc import Callable, Iterable, Sequence
from queue import SimpleQueue
from time import monotonic
from typing import Any

import msgspec
from glassloom_metrics.framing import FrameSplitter
from glassloom_metrics.peer import require_own
from glassloom_metrics.registry import ClusterRecord

from glassloom import config
from glassloom._ownership import OwnerProcess
from glassloom._supervision import Crash, start_thread
from glassloom.client.blocking import Operation, Signal, WaitFor, run_sync, until
from glassloom.client.call_names import name_of_call
from glassloom.client.callbacks import UserCallbacks
from glassloom.client.deadline import Deadline
from glassloom.client.handshake import first_frame, read_welcome
from glassloom.client.head_watch import HeadWatch, describe_process
from glassloom.client.holders import explain_missing_results, of_other_cluster
from glassloom.client.key_table import CANCELLED, ERROR, NOT_SENT, Callback, KeyState, KeyTable
from glassloom.client.known_calls import KnownCalls
from glassloom.client.known_workers import KnownWorkers
from glassloom.client.outbox import Outbox, Outgoing, OutgoingTask, size_of
from glassloom.client.output_printer import leave_to_parent, printer_of, prints_output_of
from glassloom.client.quick_calls import QuickCalls
from glassloom.client.runs import Runs
from glassloom.errors import ClusterClosed, OptionError
from glassloom.graph import Key, key_text
from glassloom.protocol import messages
from glassloom.protocol.annotations import Annotations
from glassloom.protocol.coordination import Op, Outcome, QueuePut, VariableSet
from glassloom.protocol.failure import Failure
from glassloom.protocol.merging import PlainTask, is_single, merge, single_task
from glassloom.protocol.messages import framed
from glassloom.store.segment import Location

_READ_BYTES = 2**16
"""Larger buffers come from the system and go back to it, each time: three more system calls and new pages for each read."""

_ABOUT_A_TASK_BYTES = 128
_FLUSH_TIMEOUT_S = 2.0
_CLOSE_TIMEOUT_S = 5.0
_WITHDRAW_TIMEOUT_S = 1.0
"""How long the head may take to say whether a withdrawn request had been granted; after that it is undone."""

_EXPLAIN_TIMEOUT_S = 1.0
"""How long the head may take, after a deadline, to say which workers have the results that didn't come."""

_open_connections: weakref.WeakSet[Connection] = weakref.WeakSet()


class _Reply:
    """What was asked, and the answer once it has come."""

    __slots__ = ("arrived", "message")

    def __init__(self) -> None:
        self.arrived = Signal()
        self.message: Any = None


class Connection:
    """The connection of one client. It does nothing until `open`.

    Parameters
    ----------
    record
        Of the cluster to connect to.
    wants_output
        Whether to print what tasks print, where the option ``cluster.print-task-output`` says so and this is no task.
    """

    def __init__(self, record: ClusterRecord, *, wants_output: bool = True) -> None:
        self.record = record
        self.prints = wants_output and prints_output_of(record.id)
        self.owner = OwnerProcess(f"client of cluster {record.name!r}")
        self.welcome: messages.Welcome
        self.closed_because = ""
        """Why the connection has ended, or is about to; empty while it is open."""
        self._queue: SimpleQueue[Any] = SimpleQueue()
        self._keys = KeyTable(self._queue.put)
        self._callbacks = UserCallbacks()
        self._known_calls = KnownCalls()
        self.workers = KnownWorkers()
        self.runs = Runs(self.send, record)
        self._sendable = Annotations()
        """How the last task that was submitted by itself is treated: it is known that a message can say so."""
        self._printer = printer_of(record.id)
        self._socket: socket.socket | None = None
        self._outbox: Outbox | None = None
        self._splitter = FrameSplitter()
        self._early: list[bytes] = []
        self.heard_s = monotonic()
        """When the head said something last, by the monotonic clock."""
        self._has_threads = False
        self._opened = Signal()
        self._closed = Signal()
        self._end_reason = (
            f"the cluster has ended: its head (process {record.pid}) was killed, or ended without saying why; "
            "make a new Client()"
        )
        self._replies: dict[int, _Reply] = {}
        self._requests = itertools.count()
        self.hold = self._keys.hold
        self.note_scattered = self._keys.note_scattered
        self.hold_all = self._keys.hold_all
        self.attach = self._keys.attach
        self.let_go = self._keys.let_go
        self.holds = self._keys.holds
        self.forget_callback = self._keys.forget_callback
        self.call_user = self._callbacks.call
        self.quick_calls = QuickCalls(self._known_calls.number, self.runs.of_line)

    def open(self, timeout_s: float | None = None) -> None:
        """Connect, and start the threads.

        Parameters
        ----------
        timeout_s
            How long the head may take to let it in; default the option ``timeouts.request``.

        Raises
        ------
        ClusterClosed
            If no process listens there, or the client isn't let in.
        TimeoutError
            If the head doesn't answer.
        """
        connected = self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        if timeout_s is None:
            timeout_s = config.get("timeouts.request")
        connected.settimeout(timeout_s)
        try:
            connected.connect(self.record.socket)
            require_own(connected)  # before it is told the secret
            topics = [messages.OUTPUT_TOPIC] if self.prints else []
            connected.sendall(first_frame(self.record.secret, topics))
            first = self._read_first(connected)
        except TimeoutError:
            raise TimeoutError(f"{self.head()} didn't let a new client in within {timeout_s:g} s") from None
        except OSError as error:
            raise ClusterClosed(f"the cluster can't be reached: {error}") from error
        self.welcome = read_welcome(first)
        self.workers.note(self.welcome.info)
        connected.settimeout(None)
        _open_connections.add(self)
        start_thread("glassloom-client", self._read, connected, on_crash=self._reader_crashed)
        run_sync(until(self._opened))
        self.check_open()

    @property
    def holds_results(self) -> bool:
        """Whether there is a future of this client, or a collection that it persists."""
        return self._keys.holds_results

    def head(self) -> str:
        """Describe the head process, for messages."""
        return f"the head of cluster {self.record.name!r} ({describe_process(self.record.pid)})"

    # Messages

    def check_open(self) -> None:
        """Raise if the connection can't be used: `ForkedError` in a forked child, `ClusterClosed` if it has ended."""
        if self.closed_because:  # as it is in a forked child
            self.owner.require()
            raise ClusterClosed(f"the client is closed: {self.closed_because}")

    def send(
        self,
        message: messages.FromClient,
        states: Sequence[KeyState] = (),
        *,
        waits: bool = True,
    ) -> None:
        """Let a message be sent. Waits if too much waits to be sent already.

        Parameters
        ----------
        states
            Of the keys that the message asks for: these are held until it is on its way.
        waits
            False for a small message that must not wait, whatever waits to be sent.

        Raises
        ------
        ClusterClosed, ForkedError
            If the connection has ended; the message says why.
        TimeoutError
            If the head doesn't take what was sent before.
        """
        self.check_open()
        self._put(Outgoing(_frame_of(message), states), states, waits=waits)

    def submit(self, message: messages.Submit, states: Sequence[KeyState], run: int) -> None:
        """Let a message with tasks of a run be sent, as `send` does. The pickled calls in it become numbers; the head is told of new ones."""
        self.check_open()
        _kept = self._attach_to_others(message.external)
        message = msgspec.structs.replace(message, run=run)
        codes = [code for code in message.code if isinstance(code, bytes)]
        numbers = list(map(self._known_calls.number, codes))
        message.code[:] = numbers
        calls = dict(zip(numbers, codes, strict=True))
        data = _frame_of(message)
        if is_single(message):
            ((number, code),) = calls.items()
            self._put((single_task(message, number, code), states[0], len(data)), states)
        else:
            self._put(Outgoing(data, states, calls), states)

    def submit_single(self, task: PlainTask, state: KeyState) -> None:
        """Let a task be submitted, as `submit` does, but with others that are submitted by themselves at the time.

        What it is made of can be sent: this is not found out here, but for how it is to be treated.
        """
        if self.closed_because:
            self.check_open()
        _, literals, needs, template = task
        _kept = self._attach_to_others(needs) if needs else None
        if template.handling is not self._sendable:
            _frame_of(merge([task]))
            self._sendable = template.handling
        nbytes = len(literals) + _ABOUT_A_TASK_BYTES
        if not self._known_calls.is_defined(template.number):
            nbytes += len(template.code)
        outbox = self._outbox
        assert outbox is not None
        item = task, state, nbytes
        if state.status == ERROR or not outbox.put_if_room(item, nbytes):
            self._put(item, [state])

    def when_done(self, states: Sequence[KeyState], callback: Callback) -> None:
        """See `KeyTable.when_done`. What was submitted so far doesn't wait for more to be sent with."""
        if self._outbox is not None:
            self._outbox.hurry()
        self._keys.when_done(states, callback)

    def _attach_to_others(self, keys: Sequence[Key]) -> list[KeyState]:
        """Attach to keys that another client of this process has asked for: the head may not have heard of them yet.

        Returns their states, to be kept until a message that refers to the keys is on its way.
        """
        states: list[KeyState] = []
        if len(_open_connections) == 1:
            return states
        unknown = [key for key in keys if not self._keys.holds(key)]
        for other in list(_open_connections) if unknown else ():
            theirs = other._keys.states_of(unknown)
            if theirs and other is not self:
                if other.record.id != self.record.id:
                    raise of_other_cluster(next(iter(theirs)), other.record, self.record)
                maker = other.welcome.client, max(map(other.sent_as, theirs.values()))
                attached = self._keys.hold_all(list(theirs))
                self.send(messages.Attach(list(theirs), maker), attached, waits=False)
                states += attached
        return states

    def _put(self, item: Outgoing | OutgoingTask, states: Sequence[KeyState], *, waits: bool = True) -> None:
        assert self._outbox is not None
        nbytes = size_of(item)
        if waits and not self._outbox.has_room(nbytes):
            timeout_s = config.get("timeouts.request")
            if not run_sync(self._outbox.wait_for_room(nbytes, timeout_s)):
                raise TimeoutError(
                    f"{self.head()} has read nothing for {timeout_s:g} s, so that a message of {nbytes} bytes can't be sent"
                )
            self.check_open()
        failed = [(state, state.sent_as) for state in states if state.status == ERROR]
        self._outbox.put(item, nbytes)
        if failed:
            self._keys.note_retrying(failed)

    def sent_as(self, state: KeyState) -> int:
        """Return the number of the message that asks for a key, 0 if there is none. Waits until the writer has come to it.

        Raises
        ------
        TimeoutError
            If the head doesn't take what was sent before.
        """
        if state.sent_as == NOT_SENT and self._outbox is not None and self.owner.is_current:
            timeout_s = config.get("timeouts.request")
            with contextlib.suppress(ClusterClosed):  # then it will never be sent
                if not run_sync(self._outbox.wait_for_writer(timeout_s, self.check_open)):
                    raise TimeoutError(
                        f"{self.head()} has read nothing for {timeout_s:g} s, so that a future can't be pickled"
                    )
        return 0 if state.sent_as == NOT_SENT else state.sent_as

    def cancel(self, keys: Sequence[Key], states: Sequence[KeyState], *, force: bool) -> None:
        """Give tasks up."""
        self.send(messages.Cancel(list(keys), force))
        self._keys.note_cancelling(states)

    def cancel_all(self, *, force: bool) -> Operation[int]:
        """Give up all unfinished tasks; return how many there were."""
        self._keys.note_all_cancelling()
        cancelled: messages.CancelledAll = yield from self.ask(
            lambda request: messages.CancelAll(request, force), "to cancel all tasks"
        )
        return cancelled.n_tasks

    def ask(
        self,
        make: Callable[[int], messages.FromClient],
        what: str,
        *,
        deadline: Deadline | None = None,
        waits_for_work: bool = False,
    ) -> Operation[Any]:
        """Send the message that `make` makes of a request number; wait for the answer and return it.

        Parameters
        ----------
        what
            What is asked, for messages.
        deadline
            When the answer must be there; default the option ``timeouts.request`` from now.
        waits_for_work
            Whether the answer comes only when tasks or workers have done something: then there is no default, but the head
            must give signs of life.

        Raises
        ------
        TimeoutError
            If it isn't there in time; it names what was asked and the process that doesn't answer.
        ClusterClosed, ForkedError
            If the connection has ended.
        """
        if deadline is None:
            deadline = Deadline(None if waits_for_work else config.get("timeouts.request"))
        watch = HeadWatch(self, what) if waits_for_work else None
        request, reply = next(self._requests), _Reply()
        try:
            self._replies[request] = reply
            self.send(make(request))
            if not (yield WaitFor(reply.arrived, deadline.left_s, waits_for_work, watch, keeps_place=True)):
                raise TimeoutError(f"{self.head()} didn't answer {what} within {deadline.timeout_s:g} s")
        finally:
            self._replies.pop(request, None)
        return self._taken(reply)

    def ask_all(
        self, questions: Iterable[Callable[[int], messages.FromClient]], deadline: Deadline
    ) -> Operation[list[Any]]:
        """Ask several questions at once; return the answers that are there in time, None for the others."""
        asked = {next(self._requests): (make, _Reply()) for make in questions}
        try:
            self._replies.update((request, reply) for request, (_, reply) in asked.items())
            for request, (make, _) in asked.items():
                self.send(make(request))
            for _, reply in asked.values():
                yield WaitFor(reply.arrived, deadline.left_s)
        finally:
            for request in asked:
                self._replies.pop(request, None)
        self.check_open()
        return [reply.message for _, reply in asked.values()]

    def post_question(self, make: Callable[[int], messages.FromClient]) -> Callable[[], Any]:
        """Ask without waiting; return what tells the answer, None as long as there is none."""
        request = next(self._requests)
        reply = self._replies[request] = _Reply()
        self.send(make(request))
        return lambda: reply.message

    def locate(self, keys: Sequence[Key], deadline: Deadline) -> Operation[list[Location | Failure]]:
        """Ask where results can be reached.

        Raises
        ------
        TimeoutError
            If that isn't known in time; it names the workers that have the results, or the head if it doesn't answer.
        """
        what = f"where {len(keys)} results are" if len(keys) > 1 else f"where the result of {key_text(keys[0])} is"
        try:
            located: messages.Located = yield from self.ask(
                lambda request: messages.Locate(request, list(keys)), what, deadline=deadline, waits_for_work=True
            )
        except TimeoutError:
            if not deadline.is_over:  # the head is silent, and that was said
                raise
            info, holdings = yield from self.ask_all(
                [messages.GetInfo, lambda request: messages.WhoHas(request, list(keys))], Deadline(_EXPLAIN_TIMEOUT_S)
            )
            if info is None or holdings is None:
                raise
            raise TimeoutError(explain_missing_results(keys, info, holdings, deadline)) from None
        return located.locations

    def negotiate(
        self, op: Op, timeout_s: float | None = None, receive: Callable[[int, Outcome], Any] | None = None
    ) -> Operation[Any]:
        """Ask for something that is agreed on by name; return what came of it.

        After the timeout the request is withdrawn. If the wait is interrupted, or `receive`, what may have been granted is
        given back.

        Parameters
        ----------
        receive
            Called with the request's number and the outcome; returns what to return instead.
        """
        watch = HeadWatch(self, name_of_call(op))
        request, reply = next(self._requests), _Reply()
        try:
            self._replies[request] = reply
            _kept = self._attach_to_others(op.payload.keys) if isinstance(op, VariableSet | QueuePut) else None
            self.send(messages.Coordinate(request, op))
            outcome = yield from self._outcome(request, reply, timeout_s, watch)
            return outcome if receive is None else receive(request, outcome)
        except BaseException:
            if not self.closed_because:
                self.send(messages.Withdraw(request, undo=True))
            raise
        finally:
            self._replies.pop(request, None)

    def _outcome(self, request: int, reply: _Reply, timeout_s: float | None, watch: HeadWatch) -> Operation[Outcome]:
        if not (yield WaitFor(reply.arrived, timeout_s, for_tasks=True, watch=watch)):
            self.send(messages.Withdraw(request, undo=False))
            if not (yield WaitFor(reply.arrived, _WITHDRAW_TIMEOUT_S)):
                self.send(messages.Withdraw(request, undo=True))
                return Outcome("withdrawn")
        agreed: messages.CoordinationReply = self._taken(reply)
        return agreed.outcome

    def _taken(self, reply: _Reply) -> Any:
        if reply.message is None:
            self.check_open()
        return reply.message

    # The end

    def close(self, reason: str) -> None:
        """Write what waits to be written, and end the connection; what waits for a key or an answer is woken.

        Returns when that is done. Nothing happens in a forked child: the connection is its parent's.
        """
        connected = self._socket
        if not self.owner.is_current or connected is None:
            return
        self.close_soon(reason)
        if not self._has_threads:
            connected.close()
        elif not run_sync(until(self._closed, _FLUSH_TIMEOUT_S)):  # the head reads nothing
            self._shut_down(reason)
            run_sync(until(self._closed, _CLOSE_TIMEOUT_S))
        self._printer.close()

    def close_soon(self, reason: str) -> None:
        """End the connection when what waits to be written is written. Takes no lock: the garbage collector may call it."""
        if self.owner.is_current:
            self.closed_because = self.closed_because or reason
            self._queue.put(None)

    def _shut_down(self, reason: str) -> None:
        """End the connection at once: the reading thread wakes up, and ends the rest."""
        self.closed_because = self.closed_because or reason
        if self._socket is not None:
            with contextlib.suppress(OSError):  # it is closed, or the head is gone
                self._socket.shutdown(socket.SHUT_RDWR)

    def abandon(self) -> None:
        """This is the copy in a forked child: let go of the socket, without a word to the head."""
        self.closed_because = "it belongs to the process that this one was forked from"
        self._keys.abandon()
        if self._socket is not None:
            self._socket.close()

    def _writer_crashed(self, crash: Crash) -> None:
        if not isinstance(crash.error, ConnectionError):  # then the reading thread notices too, and may know why
            self._shut_down(crash.reason)

    def _reader_crashed(self, crash: Crash) -> None:
        self._end_reason = crash.reason
        self._end()

    # In the reading thread

    def _read_first(self, connected: socket.socket) -> bytes:
        while True:
            data = connected.recv(_READ_BYTES)
            if not data:
                raise ConnectionResetError("it closed the connection")
            payloads = self._splitter.feed(data)
            if payloads:
                self._early = payloads[1:]
                return payloads[0]

    def _read(self, connected: socket.socket) -> None:
        self._has_threads = True
        self._outbox = Outbox(connected, self._keys, self._queue, self._known_calls, on_crash=self._writer_crashed)
        self._opened.set()
        payloads = self._early
        try:
            while True:
                for payload in payloads:
                    self._handle(messages.from_head_decoder.decode(payload))
                data = connected.recv(_READ_BYTES)
                self.heard_s = monotonic()
                if not data:
                    break
                payloads = self._splitter.feed(data)
        except ConnectionError:
            pass  # the head is gone
        self._end()

    def _end(self) -> None:
        """End everything that waits, then the writing thread, then the socket."""
        self._opened.set()
        self._shut_down(self._end_reason)
        self._keys.end_all()
        for reply in list(self._replies.values()):
            reply.arrived.set()
        if self._outbox is not None:
            self._outbox.end()
        if self._socket is not None:
            self._socket.close()
        _open_connections.discard(self)
        self._closed.set()
        self.workers.note_end()

    def _handle(self, message: messages.FromHead) -> None:
        match message:
            case messages.KeysFinished():
                self._keys.finish(message.keys, message.nbytes, message.inline, message.handled)
            case messages.KeyErred():
                self._keys.end([message.key], ERROR, message.failure, message.handled)
            case messages.SubmitRefused():
                self._keys.end(message.keys, ERROR, message.failure, message.handled)
            case messages.KeysCancelled():
                self._keys.end(message.keys, CANCELLED, None, message.handled)
            case messages.ClientOutput():
                self._printer.show(message)
            case messages.Ended():
                self._end_reason = f"the cluster has ended: {message.reason}"
            case (
                messages.Located()
                | messages.Info()
                | messages.WorkerLogs()
                | messages.RanOnWorkers()
                | messages.RanOnHead()
                | messages.Ack()
                | messages.Holdings()
                | messages.TaskStates()
                | messages.Story()
                | messages.Processing()
                | messages.CancelledAll()
                | messages.CoordinationReply()
            ):
                if isinstance(message, messages.Info):
                    self.workers.note(message)
                reply = self._replies.pop(message.request, None)
                if reply is not None:
                    reply.message = message
                    reply.arrived.set()


def _frame_of(message: messages.FromClient) -> bytes:
    try:
        return framed(message)
    except UnicodeEncodeError as error:  # the calls check what they are given; this is for what they overlook
        raise OptionError(f"{error.object!r} can't be sent: it has characters that UTF-8 can't encode") from error
    except OverflowError as error:
        raise OptionError(f"a whole number of more than 64 bits can't be sent: {error}") from error


def _abandon_all() -> None:
    """This is a forked child: its copies of connections are its parent's."""
    inherited = list(_open_connections)
    for connection in inherited:
        connection.abandon()
    _open_connections.clear()
    leave_to_parent(connection.record.id for connection in inherited if connection.prints)


def _close_all() -> None:
    """The process ends: what was sent last shall arrive."""
    for connection in list(_open_connections):
        connection.close("its process has ended")


atexit.register(_close_all)
os.register_at_fork(after_in_child=_abandon_all)
