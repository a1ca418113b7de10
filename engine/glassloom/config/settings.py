"""What options are set to, layer over layer, and what stands in for arguments that weren't given. Thread-safe."""

from __future__ import annotations

import html
import os
import threading
from collections.abc import Iterator, Mapping
from contextvars import ContextVar, Token
from dataclasses import dataclass
from typing import Any, Self, TypeVar

from glassloom.config.options import OPTIONS, Option, canonical
from glassloom.config.sources import Entry, entry_of, read_all

T = TypeVar("T")


class Configured:
    """Stands for an argument that wasn't given, and names the option that is its default; see `chosen`.

    >>> Configured("array.chunk-size")
    config.get('array.chunk-size')
    """

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = canonical(name, "glassloom.config")

    def __repr__(self) -> str:
        return f"config.get({self.name!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Configured) and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)


def chosen(value: T | Configured) -> T:
    """Return an argument's value: what was given, or the configured default."""
    if isinstance(value, Configured):
        default: T = get(value.name)
        return default
    return value


_Layer = Mapping[str, Entry]

_lock = threading.Lock()
_read: _Layer | None = None  # defaults, files and environment
_process: _Layer = {}  # calls of set()
_block: ContextVar[_Layer | None] = ContextVar("glassloom_config", default=None)  # blocks of `with set()`


def get(name: str) -> Any:
    """Return the value of an option, as the code uses it: sizes in bytes, times in seconds.

    Parameters
    ----------
    name
        Such as ``"array.chunk-size"``.

    Raises
    ------
    ConfigError
        If there is no such option, or a file or an environment variable has a value that can't be.
    """
    return _entry(canonical(name, "config.get")).value


def refresh() -> None:
    """Read files and environment again, and forget what `set` has set by calls; blocks of ``with`` keep what they have.

    Raises
    ------
    ConfigError
        If a file or an environment variable names no option, or has a value that can't be. Then all stays as it was.
    """
    global _read, _process
    fresh = read_all()
    with _lock:
        _read, _process = fresh, {}


def _entry(name: str) -> Entry:
    in_block = _block.get()
    if in_block is not None and name in in_block:
        return in_block[name]
    found = _process.get(name)
    return found if found is not None else _base()[name]


def _base() -> _Layer:
    global _read
    if _read is None:
        _read = read_all()
    return _read


# Setting


def set(options: Mapping[str, Any] | None = None, /, **named: Any) -> Change:  # noqa: A001 - as in Dask
    """Set options: as a call for the whole process, in ``with`` for the block.

    Before a block begins there is a moment in which other threads see its values.

    Parameters
    ----------
    options
        Values by name: ``{"array.chunk-size": "64 MiB"}``, or ``{"array": {"chunk-size": "64 MiB"}}``.
    named
        The same as keywords, two underscores for the dot: ``array__chunk_size="64 MiB"``.

    Raises
    ------
    ConfigError
        If there is no such option, or it can't have that value. Then none is set.

    Examples
    --------
    >>> from glassloom import config
    >>> with config.set({"array.chunk-size": "1 MiB"}):
    ...     config.get("array.chunk-size")
    1048576
    """
    entries = {}
    for name, value in [*_flat(options or {}, ""), *named.items()]:
        option = OPTIONS[canonical(name, "config.set")]
        entries[option.name] = entry_of(option, value, "config.set")
    return Change(entries)


def _flat(options: Mapping[str, Any], section: str) -> Iterator[tuple[str, Any]]:
    """Yield names with their sections, and values."""
    for name, value in options.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{section}{name}.")
        else:
            yield f"{section}{name}", value


class Change:
    """What one call of `set` has set: for the process, until it is used in ``with``."""

    def __init__(self, entries: _Layer) -> None:
        global _process
        self._entries = entries
        self._tokens: list[Token[_Layer | None]] = []
        with _lock:
            self._before = {name: _process[name] for name in entries if name in _process}
            _process = {**_process, **entries}

    def __enter__(self) -> Self:
        """Take the call's effect on the process back, and hold for the block instead."""
        global _process
        with _lock:
            process = dict(_process)
            for name, entry in self._entries.items():
                if process.get(name) is entry:  # no other thread has set it meanwhile
                    del process[name]
                    if name in self._before:
                        process[name] = self._before[name]
            _process = process
        self._tokens.append(_block.set({**(_block.get() or {}), **self._entries}))
        return self

    def __exit__(self, *_: object) -> None:
        _block.reset(self._tokens.pop())


def environment() -> dict[str, str]:
    """Return what `set` has set here, as environment variables for processes that are to see the same."""
    entries = {**_process, **(_block.get() or {})}
    return {OPTIONS[name].variable: _text(entry.value) for name, entry in entries.items()}


# Describing


@dataclass(frozen=True)
class Setting:
    """An option, the value that it has now as it was written, and where."""

    option: Option
    value: Any
    source: str


class Settings(tuple[Setting, ...]):
    """Settings that show as a table: as text, and in notebooks."""

    __slots__ = ()

    def __repr__(self) -> str:
        rows = [(each.option.name, _text(each.value), each.source, each.option.text) for each in self]
        widths = [max((len(row[column]) for row in rows), default=0) for column in range(3)]
        return "\n".join(
            "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[3]]) for row in rows
        )

    def _repr_html_(self) -> str:
        rows = [
            (each.option.name, _text(each.value), each.option.kind.unit, each.source, each.option.text) for each in self
        ]
        head = "".join(f"<th>{title}</th>" for title in ("Option", "Value", "Unit", "From", "What it does"))
        body = "".join(f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def describe(name: str | None = None) -> Settings:
    """Return what every option is set to, where that was said, and what it does; shows as a table.

    Parameters
    ----------
    name
        One option only.
    """
    names = list(OPTIONS) if name is None else [canonical(name, "config.describe")]
    found = [(OPTIONS[each], _entry(each)) for each in names]
    return Settings(Setting(option, entry.written, entry.source) for option, entry in found)


def _text(value: Any) -> str:
    """Return a value as one writes it in a file or an environment variable."""
    if isinstance(value, bool):
        return str(value).lower()
    return "none" if value is None else str(value)


def _renew_lock() -> None:
    """Another thread may have held the lock at the fork."""
    global _lock
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_renew_lock)
