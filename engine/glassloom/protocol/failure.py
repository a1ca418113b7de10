"""A task's exception on its way to the user: with its own traceback, the task's key and the user's line.

Tracebacks don't pickle; tblib takes them apart and puts them together again.
"""

from __future__ import annotations

import io
import pickle
from contextlib import suppress
from types import FunctionType, TracebackType
from typing import Any

import cloudpickle
import msgspec
import tblib

from glassloom._text import encodable, error_line, text_of, traceback_text, type_name
from glassloom.errors import (
    DataLost,
    DeviceOutOfMemory,
    GlassloomError,
    GraphError,
    MemoryLimitExceeded,
    NoSuchWorker,
    OptionError,
    RemoteError,
    SerialisationError,
    StoreFull,
    WorkerLost,
)
from glassloom.protocol.tracebacks import mark_task_error, without_engine

_MAX_TEXT = 20_000
_KEPT_FRAMES = 50
"""How many frames of each end of a very long traceback are kept."""
MAX_PICKLED_BYTES = 2**20
"""An exception that takes more than this, such as one with an array, is stood in for: failures lie in the head's memory."""


class Failure(msgspec.Struct, frozen=True, array_like=True, tag="failure"):
    """Why a task has no result: texts for people who watch, and the exception itself if it pickles.

    ``kind`` is ``"exception"`` (raised by the task) or the class name of one of Glassloom's own errors.
    """

    kind: str
    exception: str
    message: str
    traceback: str
    pickled: bytes = b""
    key: str = ""
    origin: str = ""


_Link = tuple[BaseException, dict[str, Any] | None, bool]
"""An exception, its traceback as a dict, and whether what led to it is its cause (else its context)."""

_OWN_ERRORS = {
    error.__name__: error
    for error in (
        WorkerLost,
        MemoryLimitExceeded,
        DataLost,
        DeviceOutOfMemory,
        GraphError,
        NoSuchWorker,
        OptionError,
        SerialisationError,
        StoreFull,
    )
}


def describe(error: BaseException) -> Failure:
    """Return the failure that `error` (just caught) is, ready to be sent. Never raises, and what it returns is bounded.

    The first frame of its traceback is taken to be the caller's, and left out of what is raised in the user's process.
    The text of the traceback has the user's frames only.
    """
    name = type_name(type(error))
    try:
        trace = traceback_text(error, _MAX_TEXT, frames=without_engine(error.__traceback__))
        return Failure("exception", name, text_of(error, _MAX_TEXT), trace, _pickle(error))
    except BaseException:  # the exception is the user's, and may raise what isn't even an Exception
        return Failure("exception", name, "<the exception could not be described>", "")


def own_failure(error: GlassloomError) -> Failure:
    """Return one of Glassloom's own errors as the failure of a task."""
    return Failure(type(error).__name__, type(error).__name__, encodable(str(error)), "")


def first_line(failure: Failure) -> str:
    """Return what was raised, as one line."""
    lines = failure.message.splitlines()
    return f"{failure.exception}: {lines[0]}" if lines else failure.exception


def restore(failure: Failure) -> BaseException:
    """Return the exception to raise for `failure`, with its traceback and a note on the task."""
    if failure.kind in _OWN_ERRORS:
        return annotate(_OWN_ERRORS[failure.kind](failure.message), failure.key, failure.origin)
    try:
        error = _put_together(pickle.loads(failure.pickled))
    except (Exception, SystemExit):  # unpickling runs the user's code
        error = RemoteError(f"{failure.exception}: {failure.message}")
        error.add_note("The exception could not be sent whole; its traceback was:\n" + failure.traceback)
    return annotate(error, failure.key, failure.origin)


def harmless(error: BaseException) -> BaseException:
    """Return an exception that is safe to raise in the user's process: a task's ``sys.exit()`` must not end that too."""
    if isinstance(error, Exception):
        return error
    stand_in = RemoteError(f"the task raised {error_line(error)}").with_traceback(error.__traceback__)
    stand_in.__cause__ = error
    for note in _notes(error):
        stand_in.add_note(note)
    return stand_in


def annotate(error: BaseException, key: str, origin: str) -> BaseException:
    """Add a note that names the task (if there is one) and the user's line, unless the exception has it already."""
    mark_task_error(error, key)
    note = f"Task {key}" + (f", built at {origin}" if origin else "")
    if key and note not in _notes(error):
        _add_note(error, note)
    return error


def explain_read_only(error: BaseException) -> None:
    """Say why an input can't be written to: NumPy only says that it can't."""
    if isinstance(error, ValueError) and "read-only" in text_of(error):
        _add_note(
            error,
            "Inputs of tasks are shared with other tasks and processes, so they can't be changed; change a copy: "
            "x = x.copy()",
        )


def _notes(error: BaseException) -> list[str]:
    notes = getattr(error, "__notes__", None)
    return notes if isinstance(notes, list) else []


def _add_note(error: BaseException, note: str) -> None:
    """Add a note, unless the exception (it is the user's) has something else in the place of notes."""
    if isinstance(getattr(error, "__notes__", []), list):
        BaseException.add_note(error, note)


def _pickle(error: BaseException) -> bytes:
    frames = error.__traceback__
    try:
        # The first frame is the runtime's own call.
        pickled = _BoundedFile()
        _Pickler(pickled, protocol=5).dump(_taken_apart(error, frames and frames.tb_next))
        links = pickle.loads(pickled.getvalue())
    except BaseException:  # the exception is the user's: pickling it may raise anything
        return b""
    # Tracebacks aren't put together here: that would leave cycles, with what the task's frames hold in them.
    return pickled.getvalue() if all(isinstance(link[0], BaseException) for link in links) else b""


class _Pickler(cloudpickle.Pickler):
    """Pickles exceptions as they say themselves: what dask.distributed makes `copyreg` do instead leaves out attributes in slots."""

    def reducer_override(self, obj: Any) -> Any:
        """Return how to pickle an object."""
        if not isinstance(obj, BaseException):
            return super().reducer_override(obj)
        kind, reduced = type(obj), obj.__reduce_ex__(5)
        return (_made_again, (kind, obj.args), *reduced[2:]) if _calls_its_init_again(kind) else reduced


def _calls_its_init_again(kind: type[BaseException]) -> bool:
    """Tell whether unpickling calls a class's own `__init__` with what that gave to `BaseException`, which may be other arguments.

    That fails, or adds to the text once more what the text has: ``super().__init__(f"row {number}: {why}")``.
    """
    return (
        isinstance(kind.__init__, FunctionType)
        and kind.__reduce__ is BaseException.__reduce__
        and kind.__reduce_ex__ is object.__reduce_ex__
        and not any(vars(base).get("__slots__") for base in kind.__mro__)  # which only `__init__` sets again
    )


def _made_again(kind: type[BaseException], args: tuple[Any, ...]) -> BaseException:
    """Return an exception as a class's `__init__` in Python has left it, but for the attributes in its `__dict__`."""
    inits = (vars(base).get("__init__") for base in kind.__mro__)
    built_in = next(init for init in inits if init is not None and not isinstance(init, FunctionType))
    error = kind.__new__(kind, *args)
    built_in(error, *args)
    return error


def repaired(error: BaseException) -> BaseException:
    """Return an exception, made anew by its arguments if it came without what its text is made of."""
    try:
        str(error)
    except Exception:  # it is the user's
        with suppress(Exception):
            made = type(error)(*error.args)
            str(made)
            made.__cause__, made.__context__ = error.__cause__, error.__context__
            for note in _notes(error):
                made.add_note(note)
            return made
    return error


class _BoundedFile(io.BytesIO):
    """Takes `MAX_PICKLED_BYTES` and no more."""

    def write(self, data: Any) -> int:
        if self.tell() + memoryview(data).nbytes > MAX_PICKLED_BYTES:
            raise OverflowError(f"more than {MAX_PICKLED_BYTES} bytes")
        return super().write(data)


def _taken_apart(error: BaseException, frames: TracebackType | None) -> list[_Link]:
    """Return `error` and what led to it, newest first."""
    links: list[_Link] = []
    seen: set[int] = set()
    while id(error) not in seen:
        seen.add(id(error))
        trace = None if frames is None else tblib.Traceback(_shortened(frames)).to_dict()
        before = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
        links.append((error, trace, error.__cause__ is not None))
        if before is None:
            break
        error, frames = before, before.__traceback__
    return links


def _shortened(trace: TracebackType) -> TracebackType:
    """Return a traceback that pickles: of a recursion without end the first and the last frames."""
    entries = [trace]
    while entries[-1].tb_next is not None:
        entries.append(entries[-1].tb_next)
    if len(entries) <= 2 * _KEPT_FRAMES:
        return trace
    kept: TracebackType | None = None
    for entry in reversed(entries[:_KEPT_FRAMES] + entries[-_KEPT_FRAMES:]):
        kept = TracebackType(kept, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return kept or trace


def _put_together(links: list[_Link]) -> BaseException:
    before: BaseException | None = None
    for error, trace, is_caused in reversed(links):
        error.__traceback__ = _as_traceback(trace)
        if is_caused:
            error.__cause__ = before
        else:
            error.__context__ = before
        before = error
    assert before is not None
    return before


def _as_traceback(trace: dict[str, Any] | None) -> TracebackType | None:
    if trace is None:
        return None
    restored: TracebackType = tblib.Traceback.from_dict(trace).as_traceback()
    return restored
