"""What can't be sent to a cluster of dask.distributed, or from there: which task's it is. dask.distributed's errors name a graph, and log it whole."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from dask._task_spec import DataNode, GraphNode

from glassloom.errors import SerialisationError
from glassloom.graph import Key, key_text
from glassloom.graph.caller_options import users_function
from glassloom.store.pickling import dumps

_RESULT = "Could not serialize object of type "


@contextmanager
def naming_what_cannot_be_sent(tasks: Mapping[Key, GraphNode]) -> Iterator[None]:
    """Let the error of handing tasks over be that of the function or argument that can't be pickled.

    Raises
    ------
    SerialisationError
        If there is one.
    """
    thread = threading.get_ident()

    def is_of_others(record: logging.LogRecord) -> bool:
        return record.thread != thread

    log = logging.getLogger("distributed.protocol.pickle")
    log.addFilter(is_of_others)
    try:
        yield
    except TypeError as error:
        if (culprit := _culprit(tasks)) is not None:
            raise culprit from error
        raise
    finally:
        log.removeFilter(is_of_others)


def _culprit(tasks: Mapping[Key, GraphNode]) -> SerialisationError | None:
    for key, task in tasks.items():
        values: list[tuple[str, Any]]
        if isinstance(task, DataNode):
            values = [("a value", task.value)]
        else:
            values = [("an argument", value) for value in (*task.args, *task.kwargs.values())]  # type: ignore[attr-defined]
            values.append(("the function", users_function(task.func)))  # type: ignore[attr-defined]
        for what, value in values:
            try:
                dumps(value)
            except SerialisationError as error:
                return SerialisationError(f"{what} of task {key_text(key)}: {error}")
    return None


def of_result(keys: Sequence[Key], error: TypeError) -> SerialisationError | None:
    """Return what to raise for the error of fetching results that can't be sent here, None if it is another error."""
    first = str(error).partition("\n")[0]
    if not first.startswith(_RESULT):
        return None
    which = f"the result of task {key_text(keys[0])}" if len(keys) == 1 else f"one of {len(keys)} results"
    return SerialisationError(
        f"{which}: a value of type {first.removeprefix(_RESULT)} can't be sent from the worker that has it to this process; "
        "tasks there can use it, or return something of it that can be pickled"
    )
