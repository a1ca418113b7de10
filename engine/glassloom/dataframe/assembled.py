"""Results that are made of several of one partition each, such as a row of reductions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pandas as pd

from glassloom.backends.pandas_ import sample
from glassloom.dataframe.call import Block, BlockCall
from glassloom.dataframe.nodes import BlockOp, FrameExpr, empty
from glassloom.dataframe.reduce import Length
from glassloom.dataframe.wrap import wrap


class Assembled(BlockOp):
    """What is made of several results of one partition each."""

    parameters = ("frame", "others", "call", "given_meta")

    given_meta: Any

    @property
    def meta(self) -> Any:
        return self.given_meta


def assembled(function: Callable[..., Any], nodes: list[FrameExpr], label: str, meta: Any = None) -> Any:
    """Return the lazy result of a function of results that have one partition each."""
    distinct = list({node.name: node for node in nodes}.values())
    numbers = {node.name: number for number, node in enumerate(distinct)}
    call = BlockCall(function, tuple(Block(numbers[node.name]) for node in nodes), label=label)
    made = function(*[sample(node.meta) for node in nodes]) if meta is None else meta
    return wrap(
        Assembled(distinct[0], tuple(distinct[1:]), call, empty(made) if isinstance(made, pd.DataFrame) else made)
    )


def constant(node: FrameExpr, value: Any, label: str) -> Any:
    """Return the lazy result of a frame without columns, which is known."""
    return assembled(partial(_known, value), [Length(node)], label, value)


def _known(value: Any, length: int) -> Any:
    return value
