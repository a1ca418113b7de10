"""The only functions of a worker that touch what belongs to users: calls, results, exceptions. They never raise.

A call, its arguments, the size and pickle of its result, the text of an exception: each may run code of the user's,
and that may raise anything, return anything, or fork. What comes out of here is plain data of ours; a result itself is
passed on without being looked at. The store writes and reads results under the same rule.
"""

from __future__ import annotations

import math
import pickle
from collections.abc import Sequence, Sized
from time import thread_time
from types import CodeType, TracebackType
from typing import Any, NamedTuple

from glassloom._text import error_line
from glassloom.backends.sizeof import sizeof
from glassloom.devices.device import Device, DeviceSpan
from glassloom.errors import DataLost, GlassloomError
from glassloom.graph import caller_options, options_in_use
from glassloom.graph.caller_options import WithOptions
from glassloom.graph.options_in_use import IN_USE
from glassloom.protocol import calls as calls_module
from glassloom.protocol import failure
from glassloom.protocol.clock import monotonic_s
from glassloom.protocol.failure import Failure
from glassloom.protocol.messages import RunTask
from glassloom.store import pickling, segment
from glassloom.store.device_store import Results
from glassloom.store.segment import Location, SegmentWriter, free_location, read_location
from glassloom.worker import inputs as inputs_module
from glassloom.worker.forked_child import child_pids, leave_if_child
from glassloom.worker.inputs import CallTable, InputLost, Inputs
from glassloom.worker.lane_results import LaneResults
from glassloom.worker.slice_tasks import SliceTasks
from glassloom.worker.task_context import TaskThread

MAX_INVOKED_BYTES = 32 * 1024
"""How large what a function returns that `client.run` calls may be."""
_INLINE_TYPES = frozenset([int, float, bool, complex, type(None)])
_INLINE_BYTES = 1024
_UNKNOWN_BYTES = 32
_LONG_READ_S = 0.001
"""A task of a slice that has read its inputs for longer is told of by itself, with how long that was."""


class Outcome:
    """What came of a task.

    Attributes
    ----------
    start_s, stop_s
        When its function was called and when that ended, monotonic.
    value
        The result. Nobody looks at it but the functions of this module and of the store.
    nbytes
        About how many bytes the result takes.
    inline
        The result's pickle, if it is so small that it travels with the message.
    failure
        What was raised instead.
    lost
        Tells which input was gone, so that the function wasn't called.
    is_out_of_device_memory
        Whether the failure is that the worker's device has no more memory.
    device_span
        Its time on the worker's device.
    cpu_begun_s
        The thread's CPU time at `start_s`.
    cpu_s, fetch_s, deserialise_s
        How much CPU time it took, and how long it took to get the inputs and to unpickle them.
    """

    lost: InputLost | None = None
    is_out_of_device_memory = False
    device_span: DeviceSpan | None = None
    cpu_begun_s = math.nan
    cpu_s = math.nan
    fetch_s = 0.0
    deserialise_s = 0.0

    def __init__(
        self,
        start_s: float,
        failure: Failure | None = None,
        stop_s: float | None = None,
        value: Any = None,
        nbytes: int = _UNKNOWN_BYTES,
        inline: bytes | None = None,
    ) -> None:
        self.start_s = start_s
        self.stop_s = monotonic_s() if stop_s is None else stop_s
        self.value = value
        self.nbytes = nbytes
        self.inline = inline
        self.failure = failure

    def begin(self) -> None:
        """The task's function is about to be called."""
        self.start_s, self.cpu_begun_s = monotonic_s(), thread_time()

    def stop(self) -> None:
        """The task's function has returned, or raised."""
        self.stop_s, self.cpu_s = monotonic_s(), thread_time() - self.cpu_begun_s

    @classmethod
    def input_lost(cls, start_s: float, lost: InputLost) -> Outcome:
        """Return the outcome of a task that can't begin."""
        outcome = cls(start_s)
        outcome.lost = lost.with_traceback(None)  # it refers to the other inputs
        return outcome


def run_user_code(task: RunTask, calls: CallTable, inputs: Inputs, device: Device | None = None) -> Outcome:
    """Run a task and return what came of it. Never raises. Doesn't return in a process that the task has forked."""
    outcome = Outcome(monotonic_s())
    outcome.cpu_begun_s = thread_time()
    try:
        call = calls.loaded.get(task.call) or _load_first(outcome, task.call, calls)
        deps: Sequence[Any] = ()
        if task.deps:
            deps, outcome.fetch_s, outcome.deserialise_s = inputs.read(task.deps)
        if device is not None:
            value = _call_on(device, call, task, deps, outcome)
        elif IN_USE.is_active:
            value = _called(call, task.literals, deps)
        else:
            value = call(task.literals, deps)
        outcome.value = value
        del deps
    except InputLost as lost:
        outcome.lost = lost.with_traceback(None)  # it refers to the other inputs
    except BaseException as error:  # whatever the user's code raises is the task's result
        leave_if_child(error)
        outcome.stop()
        outcome.is_out_of_device_memory = device is not None and device.is_out_of_memory(error)
        outcome.failure = describe_error(error)
    else:
        leave_if_child()
        outcome.stop()
        if type(value) in _INLINE_TYPES:
            outcome.inline = pickle.dumps(value, 5)
        else:
            outcome.nbytes, outcome.inline = _measure(value)
    return outcome


def _call_on(device: Device, call: calls_module.Call, task: RunTask, deps: Sequence[Any], outcome: Outcome) -> Any:
    """Call a task's function within the device's range for it."""
    with device.task_range(task.key) as outcome.device_span:
        return _called(call, task.literals, deps)


def _called(call: calls_module.Call, literals: bytes, deps: Sequence[Any]) -> Any:
    """Call a task's function. One without options of other libraries waits while those of other tasks are set."""
    if not IN_USE.is_active or type(call.function) is WithOptions:
        return call(literals, deps)
    with IN_USE.during(()):
        return call(literals, deps)


CALLERS: frozenset[CodeType] = frozenset([_called.__code__, _call_on.__code__])
"""What may be between `run_user_code`, or `run_slice`, and a task's call."""


class Watch(NamedTuple):
    """What a thread that runs a slice sees at a glance after each task: whether there is more to do than to go on.

    Attributes
    ----------
    urgent
        Tasks that go before those of ordinary slices.
    readers
        Tasks that wait for the result of another.
    lines
        What tasks have printed of lines that haven't ended.
    """

    urgent: Sized
    readers: Sized
    lines: Sized


def run_slice(
    tasks: SliceTasks,
    calls: CallTable,
    inputs: Inputs,
    thread: TaskThread,
    lane: LaneResults,
    watch: Watch,
    until_s: float,
) -> tuple[int, Outcome | None] | None:
    """Run tasks of a slice, as `run_user_code` runs one, and keep their small results, until the caller has to do something.

    Returns None if no task is left to begin. Otherwise the number of the last task; None if its result was kept, and only
    those that wait for it, and the head if `until_s` has passed, are to be told; else what came of it.
    """
    todo, left, loaded, readers, lines = tasks.todo, tasks.left, calls.loaded, watch.readers, watch.lines
    urgent, in_use = watch.urgent if tasks.priority <= 0 else (), IN_USE
    shared_call = None if tasks.call is None else loaded.get(tasks.call)
    reading_s: tuple[float, float] | None = None
    start_s = monotonic_s()
    while True:
        try:
            number, literals = todo.popitem()
        except KeyError:
            return None
        thread.started_s = start_s
        thread.number = number
        try:
            call = shared_call or loaded.get(tasks.call_of(number))
            if call is None:
                call = calls.load(tasks.call_of(number))
                start_s = monotonic_s()
            values = tasks.values
            if values is None:
                values, fetch_s, deserialise_s = inputs.read(tasks.deps)
                tasks.share(values)
                if fetch_s + deserialise_s > _LONG_READ_S:
                    reading_s = fetch_s, deserialise_s
            value = call(literals, values) if not in_use.is_active else _called(call, literals, values)
        except InputLost as lost:
            return number, Outcome.input_lost(start_s, lost)
        except BaseException as error:
            leave_if_child(error)
            return number, Outcome(start_s, describe_error(error))
        if child_pids:
            leave_if_child()
        if in_use.is_active:
            in_use.end_counted()
        stop_s = monotonic_s()
        if type(value) in _INLINE_TYPES:
            nbytes = _UNKNOWN_BYTES
            inline: bytes | None = pickle.dumps(value, 5)
        else:
            nbytes, inline = _measure(value)
        if inline is None or thread.has_seceded or urgent or lines or reading_s:
            outcome = Outcome(start_s, None, stop_s, value, nbytes, inline)
            outcome.fetch_s, outcome.deserialise_s = reading_s or (0.0, 0.0)
            return number, outcome
        lane.starts_s.append(start_s)
        lane.stops_s.append(stop_s)
        lane.nbytes.append(nbytes)
        lane.results.append(inline)
        lane.numbers.append(number)
        left.discard(number)
        if readers or stop_s > until_s:
            return number, None
        start_s = stop_s


def _load_first(outcome: Outcome, number: int, calls: CallTable) -> calls_module.Call:
    call = calls.load(number)
    outcome.begin()  # what was imported for it says nothing about the next such task
    return call


def invoke(call: bytes) -> bytes | Failure:
    """Call a function beside the tasks; return the pickle of what it returns, or what it raised. Never raises."""
    try:
        function, args, kwargs = pickling.loads(call)
        pickled = pickling.dumps(function(*args, **kwargs))
        leave_if_child()
        if len(pickled) > MAX_INVOKED_BYTES:
            raise GlassloomError(f"client.run returns small values; this one has {len(pickled)} bytes")
        return pickled
    except BaseException as error:  # the function is the user's
        leave_if_child(error)
        return describe_error(error)


class Shared(NamedTuple):
    """A result that was put where all processes can reach it, or why it could not be.

    Attributes
    ----------
    location
        Where; None if it could not be.
    view
        The value as it is mapped from there; None if the location is the pickle itself.
    reason
        Why not.
    lost
        Why the result is gone altogether, else "".
    """

    location: Location | None = None
    view: Any = None
    reason: str = ""
    lost: str = ""


def share_result(number: int, store: Results, segments: SegmentWriter, *, on_disk: bool) -> Shared | None:
    """Put a result where every process can reach it; None if it isn't here. Never raises."""
    location: Location | None = None
    try:
        location = segments.place(store.get_on_host(number), on_disk=on_disk)
        view = None if isinstance(location, bytes) else read_location(location)  # now: the head may free it soon
        return Shared(location, view)
    except KeyError:
        return None
    except DataLost as error:
        return Shared(lost=str(error))
    except BaseException as error:  # pickling and unpickling run the user's code
        if location is not None:
            free_location(location)
        return Shared(reason=error_line(error))


def describe_error(error: BaseException) -> Failure:
    """Return the failure that an exception of the user's is. Never raises."""
    try:
        BaseException.with_traceback(error, _without_our_frames(error.__traceback__))
        failure.explain_read_only(error)
    except BaseException:  # it is the user's, and may refuse either
        pass
    return failure.describe(error)


def _measure(value: Any) -> tuple[int, bytes | None]:
    """Return how many bytes a result takes, and its pickle if it is so small that it travels with the message."""
    try:
        nbytes = sizeof(value)
        return nbytes, _inline(value, nbytes)
    except BaseException:  # the value is the user's
        return _UNKNOWN_BYTES, None


def _inline(value: Any, nbytes: int) -> bytes | None:
    kind = type(value)
    if kind in (str, bytes) and nbytes <= _INLINE_BYTES:
        return pickle.dumps(value, 5)
    if kind.__module__ == "numpy" and nbytes <= _INLINE_BYTES and hasattr(value, "dtype") and not value.dtype.hasobject:
        return pickle.dumps(value, 5)
    return None


def _without_our_frames(trace: TracebackType | None) -> TracebackType | None:
    """Return a traceback that begins with the last of the engine's frames before the user's."""
    while trace is not None and trace.tb_next is not None and trace.tb_next.tb_frame.f_code.co_filename in _OUR_FILES:
        trace = trace.tb_next
    return trace


_OUR_MODULES = (calls_module, caller_options, inputs_module, options_in_use, pickling, segment)
_OUR_FILES = frozenset([__file__, *(str(module.__file__) for module in _OUR_MODULES)])
