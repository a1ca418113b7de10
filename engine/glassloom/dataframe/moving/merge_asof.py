"""`merge_asof`: each row of one frame with the nearest row of another one whose key isn't beyond it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from glassloom.dataframe.call import Block, BlockCall
from glassloom.dataframe.column_nodes import are_some, of_needed
from glassloom.dataframe.columns import require_columns
from glassloom.dataframe.derived_meta import derived_meta, names_of
from glassloom.dataframe.io.from_pandas import from_pandas
from glassloom.dataframe.moving.exchange import Exchange, Pieces, Split
from glassloom.dataframe.moving.merge import with_sampled_labels
from glassloom.dataframe.moving.shape import Repartition
from glassloom.dataframe.moving.size import size_of
from glassloom.dataframe.nodes import BlockOp, FrameExpr, Projection, SomeRows
from glassloom.dataframe.reduce import Operation, tree
from glassloom.dataframe.wrap import is_node, wrap
from glassloom.errors import OptionError
from glassloom.expr import Expr, rule


def merge_asof(
    left: Any,
    right: Any,
    on: Any = None,
    left_on: Any = None,
    right_on: Any = None,
    left_index: bool = False,
    right_index: bool = False,
    by: Any = None,
    left_by: Any = None,
    right_by: Any = None,
    suffixes: tuple[str | None, str | None] = ("_x", "_y"),
    tolerance: Any = None,
    allow_exact_matches: bool = True,
    direction: str = "backward",
) -> Any:
    """Join each row of a frame with the nearest row of another one, as `pandas.merge_asof` does.

    The partitions of the left frame are joined one by one, with the whole right frame if it is small, else with the rows of
    it that may be nearest: those between the partition's first and last key, and of each group of `by` in each partition
    of the right frame the one before and the one after. The right frame must be in order of its key over all
    partitions, the left one within each partition: `sort_values`.

    Parameters
    ----------
    left, right
        Lazy frames or pandas objects. One at least is lazy.
    on, left_on, right_on, left_index, right_index, by, left_by, right_by, suffixes, tolerance, allow_exact_matches, direction
        As in `pandas.merge_asof`.

    Raises
    ------
    UnknownColumn
        If a key is missing.
    ValueError
        When computing, if keys aren't in order.

    Examples
    --------
    >>> import pandas as pd
    >>> import glassloom.dataframe as gd
    >>> trades = gd.from_pandas(pd.DataFrame({"t": [1, 5, 10], "n": [10, 20, 30]}), npartitions=2)
    >>> quotes = pd.DataFrame({"t": [1, 4, 9], "price": [1.0, 2.0, 3.0]})
    >>> gd.merge_asof(trades, quotes, on="t").price.compute().tolist()
    [1.0, 2.0, 3.0]
    """
    if not is_node(left) and not is_node(right):
        raise TypeError(
            f"merge_asof needs a lazy frame on one side, got {type(left).__name__} and {type(right).__name__}"
        )
    if direction not in ("backward", "forward", "nearest"):
        raise OptionError(f"direction={direction!r} should be 'backward', 'forward' or 'nearest'")
    nodes = []
    for side, value, keys in (
        ("left", left, (on, left_on, by, left_by)),
        ("right", right, (on, right_on, by, right_by)),
    ):
        frame = value if is_node(value) else from_pandas(value, sort=False)
        if not isinstance(frame.expr.meta, pd.DataFrame):
            raise TypeError(f"the {side} side of merge_asof should be a frame, got {type(value).__name__}")
        names = [name for key in keys if key is not None for name in (key if isinstance(key, list) else [key])]
        if not all(map(pd.api.types.is_hashable, names)):
            raise NotImplementedError(
                "merge_asof takes names of columns as keys; assign() other keys as columns before"
            )
        require_columns([name for name in names if name not in frame.expr.meta.index.names], frame.expr.meta)
        nodes.append(frame.expr)
    options = {
        "on": on, "left_on": left_on, "right_on": right_on, "left_index": left_index, "right_index": right_index,
        "by": by, "left_by": left_by, "right_by": right_by, "suffixes": suffixes, "tolerance": tolerance,
        "allow_exact_matches": allow_exact_matches, "direction": direction,
    }  # fmt: skip
    kind = SomeRows if left_index else Nearest
    if not _is_small(nodes[1]):
        near = _nearest_rows(nodes[0], nodes[1], _Keys.of(options, "left"), _Keys.of(options, "right"))
        return wrap(kind(nodes[0], (near,), BlockCall(_joined, (Block(0), Block(1)), options, label="merge-asof")))
    whole = nodes[1] if nodes[1].npartitions == 1 else Repartition(nodes[1], 1)
    if whole.name == nodes[0].name:
        return wrap(kind(nodes[0], (), BlockCall(_joined, (Block(0), Block(0)), options, label="merge-asof")))
    return wrap(kind(nodes[0], (whole,), BlockCall(_joined, (Block(0), Block(1)), options, label="merge-asof")))


class Nearest(BlockOp):
    """Partitions of the left frame, each joined with the nearest rows of the right one."""

    adds_no_rows = True

    @cached_property
    def meta(self) -> Any:
        metas = [node.meta for node in self.operand_nodes]
        return derived_meta(lambda: with_sampled_labels(self.call, metas), with_sampled_labels, self.call, *metas)


@rule(Projection, Nearest)
def project_before_nearest(node: Projection, inner: Nearest) -> Expr | None:
    """Leave out columns of both sides, but for keys, and those that both have, which get suffixes."""
    if inner.call.function is not _joined or len(inner.others) != 1 or not are_some(node.labels, inner):
        return None
    sides, options = inner.operand_nodes, inner.call.kwargs
    if not all(are_some((), side) for side in sides):
        return None
    both = set(names_of(sides[0].meta)) & set(names_of(sides[1].meta))
    keys = [options[name] for name in ("on", "left_on", "right_on", "by", "left_by", "right_by")]
    listed = {name for key in keys if key is not None for name in (key if isinstance(key, list) else [key])}
    wanted = {*both, *listed, *node.labels}
    narrow = [of_needed(side, wanted) or side for side in sides]
    if all(one is side for one, side in zip(narrow, sides, strict=True)):
        return None
    made = inner.rebuild([narrow[0], (narrow[1],), inner.call])
    is_same = are_some(node.labels, made) and all(
        made.meta.dtypes[name] == inner.meta.dtypes[name] for name in node.labels
    )
    return Projection(made, node.columns, origin=node.origin) if is_same else None


def _joined(left: Any, right: Any, **options: Any) -> Any:
    return pd.merge_asof(left, right, **options)


# A right side that is too large for one task.

_SMALL_BYTES = 64 * 2**20


def _is_small(right: FrameExpr) -> bool:
    if right.npartitions == 1:
        return True
    size = size_of(right)
    return size is not None and size.most_bytes <= _SMALL_BYTES


@dataclass(frozen=True)
class _Keys:
    """Where one side has its key and its groups, and on which sides of a key the nearest row may be."""

    on: Any
    by: tuple[Any, ...]
    looks_before: bool
    looks_after: bool

    @classmethod
    def of(cls, options: dict[str, Any], side: str) -> _Keys:
        on = None if options[f"{side}_index"] else options["on"] if options["on"] is not None else options[f"{side}_on"]
        by = options["by"] if options["by"] is not None else options[f"{side}_by"]
        groups = () if by is None else tuple(by) if isinstance(by, (list, tuple)) else (by,)
        direction = options["direction"]
        return cls(_only(on), groups, direction != "forward", direction != "backward")

    def key(self, block: Any) -> Any:
        """Return the keys of a partition."""
        if self.on is None:
            return block.index
        return block[self.on] if self.on in block.columns else block.index.get_level_values(self.on)

    def group(self, block: Any) -> Any:
        """Return the groups of a partition as a frame."""
        found = {
            place: block[name] if name in block.columns else block.index.get_level_values(name)
            for place, name in enumerate(self.by)
        }
        return pd.DataFrame({place: np.asarray(one, dtype=object) for place, one in found.items()})


def _only(on: Any) -> Any:
    return on[0] if isinstance(on, (list, tuple)) and len(on) == 1 else on


class NearRows(Exchange):
    """The rows of the right frame that may be the nearest to one of a left partition's; some are in several partitions."""

    operation = "near-rows"

    @property
    def lengths(self) -> None:
        return None

    @cached_property
    def rows(self) -> str:
        return self.name


def _nearest_rows(left: FrameExpr, right: FrameExpr, own: _Keys, theirs: _Keys) -> FrameExpr:
    _joined_metas(left, right, own, theirs)
    left_ends = tree(left, Operation(_Ends(own, "left"), _flat, _flat), None, "ends")
    right_ends = tree(right, Operation(_Ends(theirs, "right"), _flat, _in_order), None, "ends")
    call = BlockCall(_split_near, (Block(0), Block(1), Block(2), theirs), label="split-near")
    return NearRows(Split(right, (left_ends, right_ends), call), left.npartitions)


def _joined_metas(left: FrameExpr, right: FrameExpr, own: _Keys, theirs: _Keys) -> None:
    """Check that the keys can be compared.

    Raises
    ------
    pandas.errors.MergeError
        If they are of unlike dtypes.
    """
    dtypes = [keys.key(node.meta).dtype for keys, node in ((own, left), (theirs, right))]
    if dtypes[0] != dtypes[1]:
        raise pd.errors.MergeError(f"incompatible merge keys {dtypes[0]!r} and {dtypes[1]!r}, must be the same type")


@dataclass(frozen=True)
class _Ends:
    """Finds the first and last key of a partition, in a list; None without rows."""

    keys: _Keys
    side: str

    def __call__(self, block: Any) -> list[Any]:
        key = self.keys.key(block)
        if not len(key):
            return [None]
        if key.isna().any():
            raise ValueError(f"Merge keys contain null values on {self.side} side")
        if not key.is_monotonic_increasing:
            raise ValueError(f"{self.side} keys must be sorted")
        return [(key.min(), key.max())]


def _flat(lists: list[list[Any]]) -> list[Any]:
    return [item for one in lists for item in one]


def _in_order(lists: list[list[Any]]) -> list[Any]:
    """Return the ends of the right partitions, which are in order.

    Raises
    ------
    ValueError
        If they aren't.
    """
    ends = _flat(lists)
    filled = [end for end in ends if end is not None]
    if any(before[1] > after[0] for before, after in zip(filled, filled[1:], strict=False)):
        raise ValueError("right keys must be sorted")
    return ends


def _split_near(block: Any, left_ends: list[Any], right_ends: list[Any], keys: _Keys) -> Pieces:
    """Return the rows that each left partition may need: in their order, and as often as it takes."""
    key = keys.key(block)
    count = len(block)
    chosen: list[Any] = []
    known: dict[tuple[str, int], Any] = {}
    group = keys.group(block) if keys.by and count else None
    nothing = np.empty(0, np.int64)
    for ends in left_ends:
        if ends is None or not count:
            chosen.append(nothing)
            continue
        start, stop = int(key.searchsorted(ends[0], side="left")), int(key.searchsorted(ends[1], side="right"))
        before, after = ("before", start), ("after", stop)
        if keys.looks_before and before not in known:
            known[before] = _last_of_groups(group, start)
        if keys.looks_after and after not in known:
            known[after] = _first_of_groups(group, stop, count)
        chosen.append(np.concatenate([known.get(before, nothing), np.arange(start, stop), known.get(after, nothing)]))
    bounds = np.zeros(len(chosen) + 1, np.int64)
    np.cumsum([len(one) for one in chosen], out=bounds[1:])
    return Pieces(block.take(np.concatenate(chosen) if chosen else nothing), bounds)


def _last_of_groups(group: Any, stop: int) -> Any:
    if group is None:
        return np.arange(max(stop - 1, 0), stop)
    return np.flatnonzero(~group.iloc[:stop].duplicated(keep="last").to_numpy())


def _first_of_groups(group: Any, start: int, count: int) -> Any:
    if group is None:
        return np.arange(start, min(start + 1, count))
    return np.flatnonzero(~group.iloc[start:].duplicated().to_numpy()) + start
