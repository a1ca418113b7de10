"""Names of the labels of frames that are combined by label: pandas' follows from all rows, partitions alone would have several.

If the names of two indexes differ, pandas takes that of the first one, unless it has no rows, or that of each if labels are equal: which, depends on
the method. So it is tried on made-up rows, for each way in which labels may meet, which name the result has (`_names_tried`). If these names
are unlike, it is found out of all partitions how labels meet, and each partition gets the name of that case.

Nothing of this is needed where names are equal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial
from itertools import product
from typing import Any

import pandas as pd

from glassloom.backends.pandas_ import sample
from glassloom.dataframe.call import Block, BlockCall
from glassloom.dataframe.nodes import Columnwise, FrameExpr, Projection
from glassloom.dataframe.reduction_nodes import Chunk, TreeReduce, TreeSteps

_SPLIT_EVERY = 8
_MOST_FRAMES = 3
_EQUAL, _OTHER, _NONE = "equal", "other", "none"
"""How labels of a frame are beside those of the first one: the same, others, or none. The first one has others or none."""
NO_ROWS = _NONE

State = tuple[str, ...]
"""How the labels of each frame are."""
_Met = tuple[tuple[bool, bool], ...]
"""Of the labels of each frame, whether they equal the first one's, and whether there are any."""


class Renamed(Columnwise):
    """The same rows, whose labels have the name that those of all rows have."""

    parameters = ("frame", "others", "call", "label_name")

    label_name: Any

    @cached_property
    def meta(self) -> Any:
        return _with_name(self.frame.meta, self.label_name)


class _Meeting(Chunk):
    """How labels of partitions meet. Partitions need it, too."""

    reads_apart = True

    @property
    def siblings_from(self) -> int | None:
        return None


def have_unlike_names(nodes: Sequence[FrameExpr]) -> bool:
    """Whether frames, or series, have labels of one level whose names differ."""
    indexes = [node.meta.index for node in nodes if isinstance(node.meta, (pd.DataFrame, pd.Series))]
    if len(indexes) < 2 or any(index.nlevels > 1 for index in indexes):
        return False
    return any(not _are_equal(index.name, indexes[0].name) for index in indexes[1:])


def named_as_whole(made: Any, shown: FrameExpr, call: Callable[..., Any], labels: Mapping[str, FrameExpr]) -> FrameExpr:
    """Return what was made of frames, partition by partition, under labels of the name that those of the whole result have.

    Parameters
    ----------
    made, shown
        The node of a call on frames that are cut alike, and the node that stands for its result.
    call
        What makes such a result of made-up rows.
    labels
        The frames that are combined by label, of which labels alone are needed, by the names of nodes that `made` is made of.
    """
    groups = list(dict.fromkeys(map(_rows_of, labels.values())))
    if not 1 < len(groups) <= _MOST_FRAMES:
        return shown
    firsts = [next(node for node in labels.values() if _rows_of(node) == group) for group in groups]
    numbers = {name: groups.index(_rows_of(node)) for name, node in labels.items()}
    tried = {state: _name_tried(call, made, numbers, state) for state in _states(firsts)}
    names = {state: found[0] for state, found in tried.items() if found}
    if len(_distinct(names.values())) <= 1:
        return _renamed(shown, names)
    blocks = tuple(map(Block, range(len(firsts))))
    own = _Meeting(firsts[0], tuple(firsts[1:]), BlockCall(_met, blocks, label="meeting-labels"))
    whole = TreeReduce(own, TreeSteps(_all_met, _state, ()), _SPLIT_EVERY, "meeting-labels")
    return _renamed(shown, names, whole)


def named_as_joined(joined: FrameExpr, left: FrameExpr, right: FrameExpr, how: Any) -> FrameExpr:
    """Return the join of two frames by their index under labels of pandas' name, which depends on whether a side has rows."""
    labels = [sample(node.meta.index) for node in (left, right)]
    if _are_equal_ranges(left, right):
        labels[1] = labels[0].rename(labels[1].name)
    else:
        labels[1] = labels[1][1:]
    sides = [
        {state: pd.DataFrame(index=one[:0] if state == _NONE else one) for state in _rows_known(node)}
        for node, one in zip((left, right), labels, strict=True)
    ]
    names: dict[State, Any] = {
        (own, other): sides[0][own].join(sides[1][other], how=how).index.name for own, other in product(*sides)
    }
    is_range = any(isinstance(node.meta.index, pd.RangeIndex) for node in (left, right))
    if not is_range and all(_are_equal(name, joined.meta.index.name) for name in names.values()):
        return joined  # pandas names those of blocks so, too
    if len(_distinct(names.values())) <= 1:
        return _renamed(joined, names)
    return _renamed(joined, names, *[whether_rows(node) for node in (left, right)])


def _rows_known(node: FrameExpr) -> list[str]:
    """Return whether a frame has rows, or both if that isn't known."""
    if node.lengths is None:
        return [_OTHER, _NONE]
    return [_OTHER] if any(node.lengths) else [_NONE]


def _are_equal_ranges(one: FrameExpr, other: FrameExpr) -> bool:
    """Whether labels are known to be equal ranges of numbers: pandas names those as the first ones, and others as it names labels that both have."""
    if not all(isinstance(node.meta.index, pd.RangeIndex) and node.lengths is not None for node in (one, other)):
        return False
    ends = [_first_and_last(node) for node in (one, other)]
    return ends[0] is not None and ends[0] == ends[1] and sum(one.lengths or ()) == sum(other.lengths or ())


def _first_and_last(node: FrameExpr) -> tuple[Any, Any] | None:
    """Return the first and the last label of a frame, if they are known: by its divisions, or as it is one of pandas'."""
    if node.divisions[0] is not None:
        return node.divisions[0], node.divisions[-1]
    index: Any = getattr(getattr(getattr(node, "source", None), "data", None), "index", ())
    return (index[0], index[-1]) if len(index) else None


def whether_rows(node: FrameExpr) -> FrameExpr:
    """Return the node of whether a frame has rows: another text than `NO_ROWS` if it has."""
    labels = Projection(node, []) if isinstance(node.meta, pd.DataFrame) else node
    chunk = _Meeting(labels, (), BlockCall(_has_rows, (Block(0),), label="has-rows"))
    return TreeReduce(chunk, TreeSteps(_any_rows, _any_rows, ""), _SPLIT_EVERY, "has-rows")


def _has_rows(block: Any) -> str:
    return _OTHER if len(block) else _NONE


def _any_rows(found: Sequence[str]) -> str:
    return _OTHER if _OTHER in found else _NONE


def _renamed(shown: FrameExpr, names: dict[State, Any], *facts: FrameExpr) -> FrameExpr:
    """Return a node under labels of the name that belongs to a state; without facts under the only one, if there is one."""
    if not names:
        return shown
    usual = next(iter(names.values()))
    call = BlockCall(partial(_named, names, usual), tuple(map(Block, range(1 + len(facts)))), label="names")
    return Renamed(shown, facts, call, usual)


def _distinct(names: Iterable[Any]) -> list[Any]:
    found: list[Any] = []
    for name in names:
        if not any(_are_equal(name, one) for one in found):
            found.append(name)
    return found


def _states(nodes: Sequence[FrameExpr]) -> list[State]:
    """Return in which ways labels of frames may meet, as far as their lengths tell: first the usual one, of rows with other labels."""
    lengths = [None if node.lengths is None else sum(node.lengths) for node in nodes]
    choices: list[list[str]] = []
    for place, length in enumerate(lengths):
        found = [] if length == 0 else [_OTHER]
        if place and (None in (length, lengths[0]) or length == lengths[0]):
            found.append(_EQUAL)
        choices.append(found if length else [*found, _NONE])
    return [state for state in product(*choices) if state[0] != _NONE or _NONE not in state[1:]] or [
        (_NONE,) * len(nodes)
    ]


def _name_tried(call: Callable[..., Any], made: Any, numbers: Mapping[str, int], state: State) -> tuple[Any] | None:
    """Return the name of the labels of what a call makes of made-up rows, if it takes those."""
    nodes = made.operand_nodes
    blocks = [sample(node.meta) for node in nodes]
    places = {place: numbers[node.name] for place, node in enumerate(nodes) if node.name in numbers}
    labels = next(blocks[place].index for place, number in places.items() if number == 0)
    for place, number in places.items():
        how, block = state[number], blocks[place]
        if how == _EQUAL:
            block = block.set_axis(labels.rename(block.index.name), axis=0)
        is_empty = how == _NONE or (how == _EQUAL and state[0] == _NONE)
        blocks[place] = block.iloc[:0] if is_empty else block.iloc[1:] if how == _OTHER and number else block
    try:
        return (call(*blocks).index.name,)
    except Exception:  # the function may be a user's, and pandas refuses some labels
        return None


def _rows_of(node: FrameExpr) -> tuple[str, str]:
    return (node.rows, node.layout)


def _met(first: Any, *others: Any) -> _Met:
    return tuple(
        (other.index.equals(first.index) or not (len(other) or len(first)), bool(len(other)))
        for other in (first, *others)
    )


def _all_met(found: Sequence[_Met]) -> _Met:
    return tuple((all(equal for equal, _ in one), any(has for _, has in one)) for one in zip(*found, strict=True))


def _state(found: Sequence[_Met]) -> State:
    (_, has_first), *others = _all_met(found)
    states = [_EQUAL if is_equal else _OTHER if has_rows else _NONE for is_equal, has_rows in others]
    return (_OTHER if has_first else _NONE, *states)


def _named(names: dict[State, Any], usual: Any, block: Any, *facts: Any) -> Any:
    state = facts[0] if len(facts) == 1 else facts
    return _with_name(block, names.get(state, usual))


def _with_name(block: Any, name: Any) -> Any:
    if _are_equal(block.index.name, name):
        return block
    changed = block.copy(deep=False)
    changed.index = block.index.rename(name)
    return changed


def _are_equal(one: Any, other: Any) -> bool:
    return type(one) is type(other) and bool(one == other)
