"""Options of pandas that change results: read where a graph is handed in, and set while its tasks run in other processes.

pandas has one set of options for all threads of a process. So tasks with unlike options wait for each other; tasks of graphs that were handed
in with the defaults don't wait, and run with the options of a task beside them if a worker has several threads.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pandas._config import config as pandas_config

from glassloom.graph import register_options

_NAMES = (
    "mode.string_storage",
    "mode.copy_on_write",
    "mode.use_inf_as_na",
    "future.infer_string",
    "future.distinguish_nan_and_na",
    "future.infer_freq_returns_offset",
    "future.python_scalars",
    "future.no_silent_downcasting",
)


def _value(name: str) -> Any:
    """Return an option; `_NONE` if this pandas has none of that name. (Its public function warns of some that will go.)"""
    group, _, option = name.partition(".")
    return pandas_config._global_config.get(group, {}).get(option, _NONE)  # type: ignore[attr-defined]


_NONE = object()
_REGISTERED = pandas_config._registered_options  # type: ignore[attr-defined]
_DEFAULTS = {name: registered.defval for name in _NAMES if (registered := _REGISTERED.get(name)) is not None}


@register_options
def _changed() -> tuple[dict[str, Any], Callable[..., Any]]:
    return {name: value for name, default in _DEFAULTS.items() if (value := _value(name)) != default}, _called_with


def _called_with(
    options: Mapping[str, Any], function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    with _in_force.set_to(options):
        return function(*args, **kwargs)


class _InForce:
    """Which options are set for tasks, and how many of these run."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._options: dict[str, Any] = {}
        self._before: dict[str, Any] = {}
        self._running = 0

    @contextmanager
    def set_to(self, options: Mapping[str, Any]) -> Iterator[None]:
        """Set options while a task runs, after tasks with others have ended."""
        wanted = {name: value for name, value in options.items() if name in _DEFAULTS}
        with self._changed:
            self._changed.wait_for(lambda: not self._running or self._options == wanted)
            if not self._running:
                self._before = {name: _value(name) for name in wanted}
                self._options = wanted
                _set(wanted)
            self._running += 1
        try:
            yield
        finally:
            with self._changed:
                self._running -= 1
                if not self._running:
                    _set(self._before)
                    self._changed.notify_all()


def _set(options: Mapping[str, Any]) -> None:
    quietly = getattr(pandas_config, "_set_option_impl", None)
    for name, value in options.items():
        if quietly is None:
            pandas_config.set_option(name, value)
        else:
            quietly(name, value, warn=False)


_in_force = _InForce()


def _renew() -> None:
    global _in_force
    _in_force = _InForce()  # other threads of the parent had tasks


os.register_at_fork(after_in_child=_renew)
