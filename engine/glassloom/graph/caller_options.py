"""Options of other libraries that results depend on, such as pandas': what is computed with some is another result than without.

Options are read when a computation is submitted. Where all are the libraries' defaults, keys and tasks are as they were. Otherwise keys are made of the options,
too, so that an equal expression gets no result, held or under way, that was made with other ones; and tasks of other processes set them (`options_in_use.py`).
Collections that are persisted meanwhile have names of their own.

Tasks on threads of the caller's process run with what is set there. Who changes options, in another thread or in a task, while such tasks run changes them for
these: options are of a whole process.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from types import CodeType
from typing import Any

from glassloom.errors import OptionError
from glassloom.graph.graph import Graph
from glassloom.graph.keys import Key, function_label, key_layer
from glassloom.graph.options_in_use import IN_USE, AllOptions, Library, changed_options, libraries, load_options
from glassloom.graph.random_tokens import random_token
from glassloom.graph.task import Task
from glassloom.graph.tokenize import tokenize

_LAST_TOKEN = re.compile(r"(.*-)([0-9a-f]{16,})((?:-.*)?)", re.DOTALL)

_values: list[dict[str, Any]] = []
"""The dicts that have the values of options."""
_default_values: list[dict[str, Any]] = []
"""Copies of these, as they were when all options that matter were the defaults: to compare them takes least."""


def register_options(library: Library) -> None:
    """Make a library's options known."""
    libraries.append(library)
    _values.extend(library.values)


def caller_options() -> CallerOptions | None:
    """Return the options that are set here and now; None if all are the defaults."""
    load_options()
    if _values == _default_values:
        return None
    found = changed_options()
    if found:
        return _made(found)
    _default_values[:] = map(dict, _values)
    return None


class CallerOptions:
    """Options that aren't the defaults.

    Attributes
    ----------
    token
        Tells them from others.
    """

    def __init__(self, options: AllOptions) -> None:
        self.options = options
        self.token = tokenize([(apply.__module__, some) for apply, some in options])

    def name(self, name: str) -> str:
        """Return what a node, or a layer of keys, is called that is made with these options.

        >>> CallerOptions(()).name("sum-3f2a90b1c2d3e4f5")
        'sum-1cc3e9258c2ad8d4464e7ac6'
        """
        found = _LAST_TOKEN.match(name)
        if found is None:
            return f"{name}-{self.mixed_with(name)}"
        before, token, after = found.groups()
        return f"{before}{self.mixed_with(token)}{after}"

    def mixed_with(self, token: str) -> str:
        """Return the token of something that is made with these options, of its own."""
        return tokenize(token, self.token)

    def held_name(self, name: str) -> str:
        """Return what a node whose results are held is called in an expression that is computed with these options: nothing else is."""
        return f"{name}-held-{self.mixed_with(name)}"

    def graph(self, graph: Graph, held: Mapping[Key, Key], *, shares_memory: bool) -> Graph:
        """Return a graph of the same tasks, made with these options, in this process or in others.

        Parameters
        ----------
        held
            Keys of results that the graph refers to and does not make, with those under which they are held.
        """
        names = {name: self.name(name) for name in {_name_of(key) for key in graph.tasks}}
        keys = {**held, **{key: _renamed(key, names) for key in graph.tasks}}
        functions: dict[int, Callable[..., Any]] = {}
        tasks: dict[Key, Task] = {}
        for key, task in graph.tasks.items():
            function = task.func if shares_memory else functions.get(id(task.func))
            if function is None:  # which keeps the task's function alive, so that its id stays its own
                function = functions[id(task.func)] = WithOptions(task.func, self.options)
            tasks[keys[key]] = task.reading(keys).renamed(keys[key], function)
        layers = {key_layer(keys[old]): key_layer(old) for old in graph.tasks}
        origins = {new: graph.origins[old] for new, old in layers.items() if old in graph.origins}
        labels = {new: graph.labels[old] for new, old in layers.items() if old in graph.labels}
        still_held = {keys.get(key, key) for key in graph.held}
        return Graph(tasks, origins, labels, frozenset(still_held.difference(tasks)))

    def keys(self, keys: Iterable[Key], graph: Graph, held: Mapping[Key, Key]) -> list[Key]:
        """Return the keys of blocks in what `graph` has returned for a graph."""
        return [self.key(key) if key in graph.tasks else held.get(key, key) for key in keys]

    def key(self, key: Key) -> Key:
        """Return the key of a result that is made with these options."""
        return _renamed(key, {(name := _name_of(key)): self.name(name)})


@lru_cache(16)
def _made(options: AllOptions) -> CallerOptions:
    return CallerOptions(options)


def _name_of(key: Key) -> str:
    name: Any = key if type(key) is str else key[0]
    return name


def _renamed(key: Key, names: dict[str, str]) -> Key:
    return names[key] if isinstance(key, str) else (names[_name_of(key)], *key[1:])


def in_turn(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that is called while no task has options set; itself if it needs some, or no library is known that has any."""
    return function if not libraries or isinstance(function, WithOptions) else WithOptions(function, ())


def users_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return what is called with options, or in turn; itself if it isn't."""
    return function.function if isinstance(function, WithOptions) else function


class _Submitter(threading.local):
    """The process that tasks are submitted for which this thread submits; None: this one. What a task submits is for the process that has submitted the task."""

    process: str | None = None


_submitter = _Submitter()


def note_task_thread() -> None:
    """The calling thread runs tasks: what they submit is for another process."""
    _submitter.process = ""


class WithOptions:
    """A function that is called with some options set. In the process that it was submitted for it is called with what is set there, if that is the same."""

    __slots__ = ("function", "options", "process")

    def __init__(self, function: Callable[..., Any], options: AllOptions, process: str | None = None) -> None:
        self.function, self.options = function, options
        self.process = _submitting_process() if process is None else process

    def __glassloom_tokenize__(self) -> Any:
        return (self.function, self.options)

    def __reduce__(self) -> tuple[Any, ...]:
        return (WithOptions, (self.function, self.options, self.process))

    @property
    def __name__(self) -> str:
        return function_label(self.function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        before, _submitter.process = _submitter.process, self.process
        try:
            if self.process == _this_process():
                return self._call_here(args, kwargs)
            with IN_USE.during(self.options):
                return self.function(*args, **kwargs)
        finally:
            _submitter.process = before

    def _call_here(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        self._require_options()
        result = self.function(*args, **kwargs)
        self._require_options()
        return result

    def _require_options(self) -> None:
        now = changed_options()
        if now != self.options:
            raise OptionError(
                f"the options were {_text(self.options)} when this task was submitted, and are {_text(now)} now. Its worker is a thread "
                "of the process that submits, which has one set of options: leave them as they are until results are there, or let "
                "workers be processes"
            )


WITH_OPTIONS: frozenset[CodeType] = frozenset([WithOptions.__call__.__code__, WithOptions._call_here.__code__])
"""What may be between a task's call and its function."""


def _text(options: AllOptions) -> str:
    pairs = [f"{name}={value!r}" for _, some in options for name, value in some]
    return ", ".join(pairs) or "the defaults"


def _submitting_process() -> str:
    process = _submitter.process
    return _this_process() if process is None else process


@lru_cache(1)
def _this_process() -> str:
    return random_token()


os.register_at_fork(after_in_child=_this_process.cache_clear)
