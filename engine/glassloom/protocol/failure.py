"""A task's exception on its way to the user: with its own traceback, the task's key and the user's line.

Tracebacks don't pickle; tblib takes them apart and puts them together again.
"""

from __future__ import annotations

import pickle
import traceback
from types import TracebackType
from typing import Any

import cloudpickle
import msgspec
import tblib

from glassloom.errors import (
    DataLost,
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
from glassloom.protocol.tracebacks import mark_task_error

_MAX_TEXT = 20_000


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
        GraphError,
        NoSuchWorker,
        OptionError,
        SerialisationError,
        StoreFull,
    )
}


def describe(error: BaseException) -> Failure:
    """Return the failure that `error` (just caught) is, ready to be sent. Never raises."""
    text = "".join(traceback.format_exception(error))[-_MAX_TEXT:]
    try:
        message = str(error)
    except Exception:  # the exception is the user's: its __str__ may raise anything
        message = "<the exception's text could not be made>"
    return Failure("exception", type(error).__name__, message[:_MAX_TEXT], text, _pickle(error))


def own_failure(error: GlassloomError) -> Failure:
    """Return one of Glassloom's own errors as the failure of a task."""
    return Failure(type(error).__name__, type(error).__name__, str(error), "")


def restore(failure: Failure) -> BaseException:
    """Return the exception to raise for `failure`, with its traceback and a note on the task."""
    if failure.kind in _OWN_ERRORS:
        return annotate(_OWN_ERRORS[failure.kind](failure.message), failure.key, failure.origin)
    try:
        error = _put_together(pickle.loads(failure.pickled))
    except Exception:  # unpickling runs the user's code
        error = RemoteError(f"{failure.exception}: {failure.message}")
        error.add_note("The exception could not be sent whole; its traceback was:\n" + failure.traceback)
    return annotate(error, failure.key, failure.origin)


def harmless(error: BaseException) -> BaseException:
    """Return an exception that is safe to raise in the user's process: a task's ``sys.exit()`` must not end that too."""
    if isinstance(error, Exception):
        return error
    stand_in = RemoteError(f"the task raised {type(error).__name__}: {error}").with_traceback(error.__traceback__)
    stand_in.__cause__ = error
    for note in getattr(error, "__notes__", ()):
        stand_in.add_note(note)
    return stand_in


def annotate(error: BaseException, key: str, origin: str) -> BaseException:
    """Add a note that names the task (if there is one) and the user's line, unless the exception has it already."""
    mark_task_error(error, key)
    note = f"Task {key}" + (f", built at {origin}" if origin else "")
    if key and note not in getattr(error, "__notes__", ()):
        error.add_note(note)
    return error


def explain_read_only(error: BaseException) -> None:
    """Say why an input can't be written to: NumPy only says that it can't."""
    if isinstance(error, ValueError) and "read-only" in str(error):
        error.add_note(
            "Inputs of tasks are shared with other tasks and processes, so they can't be changed; change a copy: "
            "x = x.copy()"
        )


def _pickle(error: BaseException) -> bytes:
    frames = error.__traceback__
    try:
        # The first frame is the runtime's own call.
        pickled: bytes = cloudpickle.dumps(_taken_apart(error, frames and frames.tb_next), protocol=5)
        pickle.loads(pickled)
    except Exception:  # the exception is the user's: pickling it may raise anything
        return b""
    return pickled


def _taken_apart(error: BaseException, frames: TracebackType | None) -> list[_Link]:
    """Return `error` and what led to it, newest first."""
    links: list[_Link] = []
    seen: set[int] = set()
    while id(error) not in seen:
        seen.add(id(error))
        trace = None if frames is None else tblib.Traceback(frames).to_dict()
        before = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
        links.append((error, trace, error.__cause__ is not None))
        if before is None:
            break
        error, frames = before, before.__traceback__
    return links


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
