"""Modules that a scheduler or worker of dask.distributed lacks: which one, who lacks it, and what to do. dask.distributed's errors don't say all three."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import BuiltinFunctionType, FunctionType
from typing import Any

import cloudpickle
import distributed
from dask._task_spec import DataNode

from glassloom.distributed.bounded_calls import bounded
from glassloom.distributed.connecting import scheduler_of
from glassloom.graph import Key
from glassloom.graph.caller_options import users_function

_OF_GRAPH = "Error during deserialization of the task graph"
_TOLD_AS_TEXT = re.compile(r"""^ModuleNotFoundError\(["']No module named '([^']+)'["']\)$""")
_MOST_CAUSES = 20
_ASK_S = 5.0
_THERE = sys.stdlib_module_names | {"__main__", "__mp_main__", "cloudpickle", "dask", "distributed", "glassloom", "glassloom_metrics", "numpy", "pandas", "pyarrow"}  # fmt: skip
_NAMED = (FunctionType, BuiltinFunctionType, type)


class WorkersModules:
    """Sees that workers have the modules that tasks name, before the tasks are handed over.

    A worker of dask.distributed that can't load a task ends, and the task is sent to the next one. If the scheduler can't load
    it either, nothing ends: the scheduler refuses the graph.
    """

    def __init__(self) -> None:
        self._found = set(_THERE)

    def require(self, dask: distributed.Client, tasks: Iterable[Any], workers: list[str] | None) -> None:
        """Raise `ModuleNotFoundError` if one of `workers`, all of them if None, lacks a module that the tasks name and the scheduler has."""
        wanted = sorted(modules_of(tasks) - self._found)
        if wanted and (missed := self._missed(dask, wanted, workers)) is not None:
            raise missed

    def _missed(
        self, dask: distributed.Client, wanted: list[str], workers: list[str] | None
    ) -> ModuleNotFoundError | None:
        ask = FunctionType(_lacking.__code__, {"__name__": "__main__", "__builtins__": __builtins__}, "_lacking")
        try:
            told = bounded(lambda: dask.run(ask, wanted, workers=workers, on_error="return"), _ASK_S)
            lacking = {who: names for who, names in told.items() if isinstance(names, list) and names}
            is_loaded = lacking and not bounded(lambda: dask.run_on_scheduler(ask, wanted), _ASK_S)
        except Exception:  # whoever can't be asked, or can't tell: the tasks tell what is wrong
            self._found.update(wanted)
            return None
        if told and not lacking:
            self._found.update(wanted)
        if not is_loaded:
            return None
        module = min(name for names in lacking.values() for name in names)
        who = ", ".join(worker for worker, names in lacking.items() if module in names)
        return ModuleNotFoundError(_text(module, f"worker {who}"), name=module)


def modules_of(tasks: Iterable[Any]) -> set[str]:
    """Return the names of the modules and packages that tasks of Dask's name: those of functions, of what is pickled with them, and of the types of arguments."""
    named: dict[int, Any] = {}
    for task in tasks:
        values = (task.value,) if isinstance(task, DataNode) else (*task.args, *task.kwargs.values())
        for value in values:
            kind = type(value)
            one = value if issubclass(kind, _NAMED) else kind
            named[id(one)] = one
        if not isinstance(task, DataNode):
            function = users_function(task.func)
            named[id(function)] = function
    pickler = _NotingPickler()
    for each in named.values():
        pickler.note(each)
    return {name.partition(".")[0] for name in pickler.modules}


class _NotingPickler(cloudpickle.Pickler):
    """Pickles to nowhere, and notes the modules of what is pickled by its name."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO(), protocol=5, buffer_callback=lambda _: None)
        self.modules: set[str] = set()

    def note(self, value: Any) -> None:
        """Note the modules of a value."""
        with suppress(Exception):  # pickling runs the user's code; the graph says what can't be pickled
            self.dump(value)

    def reducer_override(self, obj: Any) -> Any:
        found = super().reducer_override(obj)
        if found is NotImplemented and isinstance(obj, _NAMED) and isinstance(obj.__module__, str):
            self.modules.add(obj.__module__)
        return found


def _lacking(names: Any) -> Any:
    """Run on a worker or the scheduler: it names nothing but builtins."""
    import importlib.util
    import sys

    return [name for name in names if name not in sys.modules and importlib.util.find_spec(name) is None]


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
