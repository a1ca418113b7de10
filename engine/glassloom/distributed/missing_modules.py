"""Modules that a scheduler or worker of dask.distributed lacks: which one, who lacks it, and what to do. dask.distributed's errors don't say all three."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FunctionType
from typing import Any

import distributed

from glassloom.distributed.connecting import scheduler_of
from glassloom.graph import Key

_OF_GRAPH = "Error during deserialization of the task graph"
_TOLD_AS_TEXT = re.compile(r"""^ModuleNotFoundError\(["']No module named '([^']+)'["']\)$""")
_MOST_CAUSES = 20


def explained(dask: distributed.Client, key: Key, error: BaseException) -> BaseException:
    """Return the error of a task. If it is that a module is missing over there, it says where, and what to do.

    A task that itself has raised it keeps its error, which gets a note.
    """
    missing = _missing_module(error)
    if missing is None:
        return error
    if isinstance(error, RuntimeError) and str(error).startswith(_OF_GRAPH):
        return _made(missing, f"the scheduler at {scheduler_of(dask).address}, which loads the graphs of tasks", error)
    workers = _erred_on(dask, key)
    text = _text(missing, f"worker {', '.join(workers)}" if workers else f"a worker of {scheduler_of(dask).address}")
    error.add_note(text)
    return error


@contextmanager
def naming_missing_modules(dask: distributed.Client) -> Iterator[None]:
    """Let errors of calls over there say which module is missing: see `named`."""
    try:
        yield
    except Exception as error:
        told = named(error, f"the workers or the scheduler at {scheduler_of(dask).address}")
        if told is error:
            raise
        raise told from None


def named(error: BaseException, where: str) -> BaseException:
    """Return an error of a call over there; if it became a text on the way, and says that a module is missing, one that is that error."""
    found = _TOLD_AS_TEXT.match(str(error)) if type(error) is Exception else None
    return error if found is None else _made(found[1], where, error)


def explain_missing_here(error: ImportError) -> None:
    """Note that it is this process that lacks a module, where a result comes from a worker that has it."""
    if error.name:
        error.add_note(
            f"The result is there, and can't be loaded in this process, which has no module {error.name!r}: install "
            f"{error.name.partition('.')[0]} here too, or let the task return something else."
        )


def _missing_module(error: BaseException | None) -> str | None:
    """Return the name of the module that an error, or what led to it, misses."""
    for _ in range(_MOST_CAUSES):
        if error is None:
            return None
        if isinstance(error, ModuleNotFoundError):
            named = re.match("No module named '([^']+)'", str(error))
            return error.name or (named[1] if named else None)
        error = error.__cause__
    return None


def _made(module: str, where: str, error: BaseException) -> ModuleNotFoundError:
    made = ModuleNotFoundError(_text(module, where), name=module)
    made.__cause__ = error
    return made


def _text(module: str, where: str) -> str:
    top = module.partition(".")[0]
    file = getattr(sys.modules.get(top), "__file__", None) or ""
    is_users = file.endswith(".py") and "site-packages" not in file and Path(file).name != "__init__.py"
    send = f"send it, client.upload_file({file!r}), or " if is_users else ""
    return (
        f"No module named {module!r} on {where}: {send}install {top} on the scheduler and all workers, "
        "in the version that this process has"
    )


def _erred_on(dask: distributed.Client, key: Key) -> list[str]:
    """Return the workers that a task failed on, if the scheduler tells."""
    function = FunctionType(
        _workers_of.__code__, {"__name__": "__main__", "__builtins__": __builtins__}, _workers_of.__name__
    )  # pickled with its code: the scheduler may have nothing of ours
    with suppress(Exception):  # only the message would be better
        return list(dask.run_on_scheduler(function, key))
    return []


def _workers_of(key: Any, dask_scheduler: Any = None) -> Any:
    """Run on the scheduler."""
    task = dask_scheduler.tasks.get(key)
    return [] if task is None else sorted(task.erred_on or ())
