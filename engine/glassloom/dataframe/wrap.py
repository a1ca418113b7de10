"""From nodes to collections: the class that wraps each kind of node, and arguments as operands."""

from __future__ import annotations

import copy
from collections.abc import Callable, ItemsView, Iterable, Iterator, KeysView, Mapping, Sequence, ValuesView
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from glassloom.array.api.array import Array
from glassloom.backends.pandas_ import is_frame
from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE
from glassloom.collection import Collection
from glassloom.dataframe.alignment import require_aligned
from glassloom.dataframe.array_values import ArrayValue
from glassloom.dataframe.call import Block, BlockCall, Method
from glassloom.dataframe.nodes import BlockOp, FrameExpr, Rowwise
from glassloom.dataframe.repeated_labels import Paired, paired
from glassloom.dataframe.rows_of_label import rows_beside
from glassloom.graph import function_label

_classes: dict[str, Callable[[FrameExpr], Any]] = {}


def wraps(kind: str) -> Callable[[type], type]:
    """Register the class of the collections of nodes whose meta is of `kind`: frame, series, index, array or scalar."""

    def register(collection: type) -> type:
        _classes[kind] = collection
        return collection

    return register


def wrap(node: FrameExpr) -> Any:
    """Return the collection around a node. Makes the meta, so that pandas raises its errors here."""
    meta = node.meta
    if isinstance(meta, pd.DataFrame):
        return _classes["frame"](node)
    if isinstance(meta, pd.Series):
        return _classes["series"](node)
    if isinstance(meta, (np.ndarray, pd.api.extensions.ExtensionArray)) and meta.ndim == 1:
        return _classes["array"](node)
    return _classes["index" if isinstance(meta, pd.Index) else "scalar"](node)


def lazy_value(value: Any) -> Any:
    """Return a lazy array without axes as a lazy scalar, anything else as it is."""
    return wrap(ArrayValue(value.expr)) if isinstance(value, Array) and not value.ndim else value


def is_node(value: Any) -> bool:
    """Whether `value` is a collection around a frame node."""
    return isinstance(value, Collection) and isinstance(value.expr, FrameExpr)


def require_lazy(function: str, value: Any, *, pandas: bool = True) -> None:
    """Check that a function gets a lazy frame or series; `pandas`: pandas has a function of that name.

    Raises
    ------
    TypeError
        If not.
    """
    if not is_node(value):
        other = f"pandas.{function} takes others" if pandas else "glassloom.dataframe.from_pandas makes one of pandas'"
        raise TypeError(f"{function} takes a lazy frame or series, got {type(value).__name__}; {other}")


def bind(
    function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], *, label: str = ""
) -> tuple[list[FrameExpr], BlockCall]:
    """Return the nodes among the arguments, also in lists, tuples and dicts, and the call that gets their blocks.

    Raises
    ------
    TypeError
        If an argument is a collection that isn't a frame's.
    """
    nodes: list[FrameExpr] = []

    def place(value: Any) -> Any:
        if not isinstance(value, Collection):
            return value
        value = lazy_value(value)
        if not is_node(value):
            raise TypeError(
                f"{label or getattr(function, '__name__', function)}: a lazy {type(value).__name__} can't be combined with "
                "a frame; compute() it first"
            )
        names = [node.name for node in nodes]
        if value.expr.name in names:
            return Block(names.index(value.expr.name))
        nodes.append(value.expr)
        return Block(len(nodes) - 1)

    inside: list[Any] = []
    if isinstance(function, Method):
        args = [_read_once(arg) for arg in args]
    args = [_lifted(_as_now(arg), inside) for arg in args]
    kwargs = {name: _lifted(_as_now(value), inside) for name, value in kwargs.items()}
    if inside:
        label = label or function_label(function)
        function = _Filled(function, len(inside))
    placed = [place(arg) for arg in args]
    named = {name: place(value) for name, value in kwargs.items()}
    values = [place(one) for one in inside]
    return nodes, BlockCall(function, (*values, *placed), named, label)


def _as_now(value: Any) -> Any:
    """Return an argument that stays as it is: tasks run later, and may share it, when the caller has changed what was given."""
    kind = type(value)
    if kind is dict:
        if set(map(type, value.values())).isdisjoint(_CHANGEABLE):
            return dict(value)
        return {name: _as_now(one) for name, one in value.items()}
    if kind in (list, tuple, set):
        has_others = not set(map(type, value)).isdisjoint(_CHANGEABLE)
        return kind(map(_as_now, value)) if has_others else kind(value)
    if kind is np.ndarray or isinstance(value, pd.api.extensions.ExtensionArray):
        return value.copy()
    if isinstance(value, Mapping) and not isinstance(value, MappingProxyType):
        return copy.copy(value)
    if isinstance(value, (KeysView, ValuesView, ItemsView)):
        return list(value)
    if kind in (pd.Series, pd.DataFrame):
        return value.copy(deep=not HAS_COPY_ON_WRITE)
    return value


def _read_once(value: Any) -> Any:
    """Return an argument of a method of pandas', which would read an iterator to its end with the first partition."""
    if type(value) is dict:
        return {name: _read_once(one) for name, one in value.items()}
    return list(value) if isinstance(value, Iterator) else value


_CHANGEABLE = frozenset([dict, list, tuple, set, np.ndarray, pd.Series, pd.DataFrame])


class _Place:
    """Where a value is put into a list, tuple or dict: the value with this number."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number

    def __glassloom_tokenize__(self) -> int:
        return self.number

    def __reduce__(self) -> tuple[Any, ...]:
        return (_Place, (self.number,))


class _Filled:
    """A function whose first arguments are put into the lists, tuples and dicts among the others."""

    __slots__ = ("count", "function")

    def __init__(self, function: Callable[..., Any], count: int) -> None:
        self.function = function
        self.count = count

    def __glassloom_tokenize__(self) -> tuple[Any, ...]:
        return (self.function, self.count)

    def __reduce__(self) -> tuple[Any, ...]:
        return (_Filled, (self.function, self.count))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        values = args[: self.count]
        others = [_with_values(arg, values) for arg in args[self.count :]]
        return self.function(*others, **{name: _with_values(value, values) for name, value in kwargs.items()})


def _lifted(value: Any, inside: list[Any], *, is_inside: bool = False) -> Any:
    """Return an argument with places for the lazy values inside of it, which are added to a list."""
    if is_inside and isinstance(value, Collection):
        inside.append(value)
        return _Place(len(inside) - 1)
    if type(value) is dict and holds_lazy(value.values()):
        return {name: _lifted(one, inside, is_inside=True) for name, one in value.items()}
    if type(value) in (list, tuple) and holds_lazy(value):
        return type(value)([_lifted(one, inside, is_inside=True) for one in value])
    return value


def holds_lazy(values: Iterable[Any]) -> bool:
    """Whether a collection is among some values, or in a list, tuple or dict among them."""
    kinds = set(map(type, values))
    if any(issubclass(kind, Collection) for kind in kinds):
        return True
    if kinds.isdisjoint((dict, list, tuple)):
        return False
    return any(
        holds_lazy(one.values() if type(one) is dict else one) for one in values if type(one) in (dict, list, tuple)
    )


def _with_values(value: Any, values: Sequence[Any]) -> Any:
    if type(value) is _Place:
        return values[value.number]
    if type(value) is dict:
        return {name: _with_values(one, values) for name, one in value.items()}
    if type(value) in (list, tuple):
        return type(value)([_with_values(one, values) for one in value])
    return value


def operate(
    function: Callable[..., Any],
    *args: Any,
    kind: type[BlockOp] = Rowwise,
    label: str = "",
    kwargs: dict[str, Any] | None = None,
) -> Any:
    """Return the collection of a block-wise call on the collections among the arguments.

    Raises
    ------
    DivisionError
        If the operands can't be combined partition by partition.
    """
    nodes, call = bind(function, args, kwargs or {}, label=label)
    nodes, call = _widest_first(rows_beside(nodes), call)
    together = [node for node in nodes if _must_correspond(node, nodes[0], call)]
    if not kind.aligns_labels:
        require_aligned(together, call.label)
        return wrap(kind(nodes[0], tuple(nodes[1:]), call))
    nodes, pairs = paired_among(nodes, together, call.label)
    return wrap(pairs.result(kind(nodes[0], tuple(nodes[1:]), call)))


def paired_among(
    nodes: Sequence[FrameExpr], together: Sequence[FrameExpr], what: str
) -> tuple[list[FrameExpr], Paired]:
    """Return nodes, of which some are frames whose partitions are paired by label, and what is made of the result. See `paired`."""
    pairs = paired(together, what, takes_single=True)
    made = {node.name: one for node, one in zip(together, pairs.nodes, strict=True)}
    return [made.get(node.name, node) for node in nodes], pairs


def _must_correspond(node: FrameExpr, widest: FrameExpr, call: BlockCall) -> bool:
    """Whether a node must have the partitions of the first one. Scalars and rows of values by column have one."""
    if not node.has_rows:
        return False
    if call.kwargs.get("axis") in (0, "index", "rows"):  # a series is laid along the rows
        return True
    is_row = isinstance(node.meta, pd.Series) and isinstance(widest.meta, pd.DataFrame) and node.npartitions == 1
    return not is_row


def _widest_first(nodes: list[FrameExpr], call: BlockCall) -> tuple[list[FrameExpr], BlockCall]:
    """Return the nodes, first the one that decides on the partitions: a frame, else a series, else a scalar."""

    def rank(number: int) -> tuple[bool, bool, int]:
        meta = nodes[number].meta
        return (not is_frame(meta), not isinstance(meta, pd.DataFrame), number)

    return in_order(nodes, call, sorted(range(len(nodes)), key=rank))


def in_order(nodes: list[FrameExpr], call: BlockCall, order: Sequence[int]) -> tuple[list[FrameExpr], BlockCall]:
    """Return nodes in another order, and the call that takes their blocks so."""
    if list(order) == list(range(len(nodes))):
        return nodes, call
    new = {old: place for place, old in enumerate(order)}

    def move(value: Any) -> Any:
        return Block(new[value.number]) if isinstance(value, Block) else value

    moved = BlockCall(
        call.function,
        tuple(move(arg) for arg in call.args),
        {name: move(value) for name, value in call.kwargs.items()},
        call.label,
    )
    return [nodes[old] for old in order], moved
