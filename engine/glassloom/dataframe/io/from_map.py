"""Frames whose partitions are made by a function, or by delayed calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any

from glassloom.backends.byte_order import with_native_bytes
from glassloom.backends.pandas_ import columns_of
from glassloom.dataframe.argument_kinds import collection_of
from glassloom.dataframe.arguments import with_function_arguments
from glassloom.dataframe.call import Block, BlockCall
from glassloom.dataframe.category_order import can_divide
from glassloom.dataframe.io.read import Read, Source
from glassloom.dataframe.lazy_closures import require_at_hand_values
from glassloom.dataframe.meta import checked, parse_meta
from glassloom.dataframe.nodes import FrameExpr, empty
from glassloom.dataframe.widening import as_wide_as
from glassloom.dataframe.wrap import wrap
from glassloom.delayed_call import Delayed, delayed
from glassloom.errors import DivisionError
from glassloom.expr import Expr
from glassloom.graph import Handle, Key, Task, TaskRef, function_label, tokenize


class MapSource(Source):
    """A function and, for each partition, its arguments."""

    makes_unlike_dtypes = True
    has_unique_labels = False

    def __init__(
        self,
        function: Callable[..., Any],
        arguments: list[tuple[Any, ...]],
        kwargs: dict[str, Any],
        meta: Any,
        divisions: tuple[Any, ...],
        checks: bool,
    ) -> None:
        self.make = _make if checks else _make_unchecked
        self.function = function
        self.arguments = arguments
        self.kwargs = kwargs
        self.meta = meta
        self.divisions = divisions
        self.label = function_label(function)
        self.token = tokenize(function, arguments, kwargs, checks)
        self.can_project = hasattr(function, "project_columns")

    def piece(self, number: int) -> Any:
        return self.arguments[number]

    def reader(self, columns: tuple[Any, ...] | None, condition: Any) -> Callable[[Any], Any]:
        function, meta = self.function, self.meta
        if columns is not None:
            function, meta = function.project_columns(list(columns)), columns_of(meta, list(columns))  # type: ignore[attr-defined]
        return BlockCall(self.make, (Block(0), function, self.kwargs, meta), label=self.label)


class FromDelayed(FrameExpr):
    """Partitions that delayed calls return."""

    parameters = ("parts", "given_meta", "given_divisions", "checks")
    operation = "from-delayed"
    makes_unlike_dtypes = True

    parts: tuple[Expr, ...]
    given_meta: Any
    given_divisions: tuple[Any, ...]
    checks: bool

    @cached_property
    def meta(self) -> Any:
        return self.given_meta

    @cached_property
    def divisions(self) -> tuple[Any, ...]:
        return self.given_divisions if can_divide(self.meta) else (None,) * len(self.given_divisions)

    def tasks(self) -> dict[Key, Task]:
        tasks: dict[Key, Task] = {}
        for number, part in enumerate(self.parts):
            key = (self.name, number)
            (below,) = part.output_keys()
            if self.checks:
                tasks[key] = Task(key, _checked, (TaskRef(below), self.given_meta, "from_delayed"))
            else:
                tasks[key] = Task(key, with_native_bytes, (TaskRef(below),))
        return tasks


@with_function_arguments()
def from_map(
    func: Callable[..., Any],
    /,
    *iterables: Iterable[Any],
    args: Sequence[Any] | None = None,
    meta: Any = None,
    divisions: Sequence[Any] | None = None,
    enforce_metadata: bool = True,
    **kwargs: Any,
) -> Any:
    """Make a frame whose partition ``i`` is ``func(iterables[0][i], iterables[1][i], ..., *args, **kwargs)``.

    Parameters
    ----------
    func
        Returns a pandas object. Where it has a method ``project_columns(columns)``, which returns a function that makes these columns alone,
        columns that nothing is made of aren't made.
    iterables
        One or more, of equal length: one item a partition.
    args, kwargs
        Further arguments, the same for all partitions.
    meta
        An empty pandas object like the partitions, or its columns and dtypes (as in `DataFrame.map_partitions`).
        Default: the function is called for the first partition, here and now.
    divisions
        The index labels at which partitions begin and the last one ends, if known.
    enforce_metadata
        Whether to check that the function returns what `meta` says.

    Examples
    --------
    >>> import pandas as pd
    >>> import glassloom.dataframe as gd
    >>> frame = gd.from_map(lambda n: pd.DataFrame({"n": range(n)}), [1, 2, 3])
    >>> len(frame)
    6
    """
    columns = [list(iterable) for iterable in iterables]
    if not columns or not columns[0]:
        raise ValueError("from_map needs an iterable with at least one item: one for each partition")
    lengths = [len(column) for column in columns]
    if len(set(lengths)) > 1:
        raise ValueError(f"from_map's iterables have different lengths: {lengths}")
    arguments = [(*items, *(args or ())) for items in zip(*columns, strict=True)]
    if meta is None:
        first = func(*arguments[0], **kwargs)
        require_at_hand_values(first, "from_map", func)
        made = with_native_bytes(empty(first))
    else:
        made = parse_meta(meta)
    known = _checked_divisions(divisions, len(arguments))
    source = MapSource(func, arguments, kwargs, made, known, enforce_metadata)
    return wrap(Read(source, None, None, None))


@with_function_arguments()
def from_delayed(
    parts: Delayed | Handle | Sequence[Delayed | Handle],
    meta: Any = None,
    divisions: Sequence[Any] | None = None,
    *,
    verify_meta: bool = True,
) -> Any:
    """Make a frame of delayed calls, or futures, each of which returns a partition.

    Parameters
    ----------
    parts
        One or more `glassloom.delayed` calls, or futures, as `Client.map` and `Client.scatter` return them.
    meta
        As in `from_map`. Default: the first call is computed, here and now.
    divisions
        The index labels at which partitions begin and the last one ends, if known.
    verify_meta
        Whether to check that the calls return what `meta` says.

    Examples
    --------
    >>> import pandas as pd
    >>> import glassloom as gl
    >>> import glassloom.dataframe as gd
    >>> load = gl.delayed(lambda n: pd.DataFrame({"n": range(n)}))
    >>> len(gd.from_delayed([load(2), load(3)], meta={"n": "int64"}))
    5
    """
    is_one = isinstance(parts, (Delayed, Handle))
    many = [parts] if is_one else collection_of("from_delayed", "parts", parts, "delayed calls")
    if not many:
        raise ValueError("from_delayed needs at least one delayed call")
    for part in many:
        if not isinstance(part, (Delayed, Handle)):
            raise TypeError(f"from_delayed takes delayed calls and futures, got {type(part).__name__}")
    made = with_native_bytes(empty(delayed(many[0]).compute())) if meta is None else parse_meta(meta)
    nodes = tuple(delayed(part).expr for part in many)
    return wrap(FromDelayed(nodes, made, _checked_divisions(divisions, len(many)), verify_meta))


def _checked_divisions(divisions: Sequence[Any] | None, npartitions: int) -> tuple[Any, ...]:
    if divisions is None:
        return (None,) * (npartitions + 1)
    if len(divisions) != npartitions + 1:
        raise DivisionError(
            f"{len(divisions)} divisions were given for {npartitions} partitions; there should be {npartitions + 1}: "
            "where each begins and where the last ends"
        )
    return tuple(divisions)


def _make_unchecked(arguments: tuple[Any, ...], function: Callable[..., Any], kwargs: dict[str, Any], meta: Any) -> Any:
    return with_native_bytes(function(*arguments, **kwargs))


def _make(arguments: tuple[Any, ...], function: Callable[..., Any], kwargs: dict[str, Any], meta: Any) -> Any:
    return _checked(function(*arguments, **kwargs), meta, function_label(function))


def _checked(block: Any, meta: Any, who: str) -> Any:
    """Return a block with the numbers that the meta promises, where those hold all values; see `checked`."""
    return as_wide_as(checked(block, meta, who), meta)
