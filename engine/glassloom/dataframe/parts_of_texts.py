"""Parts of texts without lists: ``split`` followed by ``str[i]``, ``str.get``, ``str.len`` or ``explode`` is one operation, made by Arrow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from glassloom.dataframe.accessors import TextMethod
from glassloom.dataframe.arrow.text_parts import Parts, parts_of
from glassloom.dataframe.call import Block, BlockCall, Method
from glassloom.dataframe.nodes import BlockOp, LabelKeeping, Rowwise
from glassloom.expr import Expr, rule

_SPLITS = {("str", "split"): False, ("str", "rsplit"): True}
_MOST_PARTS = 2**31
_ITEMS = (("str", "__getitem__"), ("str", "get"))


class PartOfTexts(Rowwise):
    """What is asked of the parts of each text."""

    parameters = ("frame", "others", "call", "given_meta")

    given_meta: Any

    @property
    def meta(self) -> Any:
        return self.given_meta


class ExplodedTexts(LabelKeeping):
    """A row for each part of each text."""

    parameters = ("frame", "others", "call", "given_meta")

    given_meta: Any

    @property
    def meta(self) -> Any:
        return self.given_meta


@rule(BlockOp, Rowwise)
def ask_for_parts_without_lists(node: BlockOp, inner: Rowwise) -> Expr | None:
    """Find parts of texts without making a list for each text."""
    if type(inner.call.function) is not TextMethod or inner.call.function.path not in _SPLITS or inner.others:
        return None
    if node.others or not _is_of_parts(node) or not isinstance(inner.meta, pd.Series):
        return None
    kind = PartOfTexts if isinstance(node, Rowwise) else ExplodedTexts
    call = BlockCall(OfParts(inner.call, node.call), (Block(0),), label=f"split-{node.label}")
    return kind(inner.frame, (), call, node.meta, origin=node.origin)


def _is_of_parts(node: BlockOp) -> bool:
    function, args, kwargs = node.call.function, node.call.args, node.call.kwargs
    if not isinstance(function, Method) or not args or type(args[0]) is not Block:
        return False
    if function.path in _ITEMS:
        return len(args) == 2 and type(args[1]) is int and abs(args[1]) < _MOST_PARTS and not kwargs
    if function.path == ("str", "len"):
        return len(args) == 1 and not kwargs
    return function.path == ("explode",) and len(args) == 1 and not kwargs


class OfParts:
    """Two calls one after the other: texts are split, and something is asked of the parts."""

    __slots__ = ("split", "then")

    calls_methods = True

    def __init__(self, split: BlockCall, then: BlockCall) -> None:
        self.split, self.then = split, then

    def __glassloom_tokenize__(self) -> Any:
        return (self.split, self.then)

    @property
    def __name__(self) -> str:
        return self.then.label

    def __reduce__(self) -> tuple[Any, ...]:
        return (OfParts, (self.split, self.then))

    def __call__(self, block: Any) -> Any:
        options = {"pat": None, "n": -1, "regex": None, **self.split.kwargs}
        from_end = _SPLITS[self.split.function.path]  # type: ignore[attr-defined]
        parts = parts_of(block, **options, from_end=from_end)
        made = None if parts is None else self._of(parts, block)
        return self.then(self.split(block)) if made is None else made

    def _of(self, parts: Parts, block: pd.Series) -> pd.Series | None:
        """Return what is asked for; None where pandas' dtype follows from there being nothing."""
        path = self.then.function.path  # type: ignore[attr-defined]
        if parts.is_missing is not None and parts.is_missing.all():
            return None
        if path == ("explode",):
            return _exploded(parts, block)
        if path == ("str", "len"):
            made = parts.counts()
        else:
            found = parts.item(self.then.args[1])
            if found is None:
                return None
            made = parts.objects(found)
        return pd.Series(made, index=block.index, name=block.name, dtype=made.dtype, copy=False)


def _exploded(parts: Parts, block: pd.Series) -> pd.Series | None:
    dtype: Any = pd.Series(["a"], dtype=object).explode().dtype  # as pandas' options have it
    found, repeats = parts.exploded()
    if not isinstance(dtype, pd.StringDtype) or found.null_count == len(found):
        return None
    index = block.index if np.all(repeats == 1) else block.index.repeat(repeats)
    values = dtype.__from_arrow__(found)  # type: ignore[attr-defined]
    return pd.Series(values, index=index, name=block.name, copy=False)
