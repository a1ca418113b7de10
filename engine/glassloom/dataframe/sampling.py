"""Rows drawn at random: a number of them, and frames split into random pieces. Fractions are drawn by `moving.shape.Sample`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np

from glassloom.backends.pandas_ import concat
from glassloom.dataframe.call import Block, BlockCall
from glassloom.dataframe.nodes import FrameExpr, OfSameLabels
from glassloom.dataframe.reduce import SPLIT_EVERY
from glassloom.dataframe.reduction_nodes import TreeReduce, TreeSteps, WholeChunk
from glassloom.errors import OptionError


def seed_of(random_state: Any) -> int:
    """Return a seed: of a number or a sequence of them always the same, of a generator the next, of None a new one.

    Raises
    ------
    OptionError
        If it is none of those.
    """
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(0, 2**31 - 1))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(0, 2**31 - 1))
    try:
        return int(np.random.SeedSequence(random_state).generate_state(1)[0])
    except (TypeError, ValueError) as error:
        raise OptionError(f"random_state={random_state!r} should be a number, a NumPy generator or None") from error


class NumberedChunk(WholeChunk):
    """The first step of a reduction whose function gets the number of the partition too."""

    def literals(self, index: tuple[int, ...]) -> tuple[Any, ...]:
        return index


def some_rows(node: FrameExpr, n: int, replace: bool, seed: int, weights: FrameExpr | None = None) -> FrameExpr:
    """Return the node of `n` rows of all partitions, drawn at random, in random order, in one partition.

    Weighted rows without replacement are those of the smallest exponential random numbers divided by weights (Efraimidis and Spirakis 2006).
    """
    chunk, join = (_drawn_again, _joined_again) if replace else (_drawn, _joined)
    others = () if weights is None else (weights,)
    places = (Block(0), Block(1) if others else None, Block(1 + len(others)))
    call = BlockCall(partial(chunk, n, seed), places, label="sample-chunk")
    finish = partial(_finished, n, replace, weights is not None, partial(join, n, seed))
    steps = TreeSteps(partial(join, n, seed), finish, node.meta)
    return TreeReduce(NumberedChunk(node, others, call), steps, SPLIT_EVERY, "sample")


def _checked(weights: Any) -> Any:
    """Return weights as an array of numbers that are 0 or more."""
    values = weights.to_numpy(dtype="float64", na_value=np.nan)
    if np.isinf(values).any():
        raise ValueError("sample: weight vector may not include `inf` values")
    if (values < 0).any():
        raise ValueError(f"sample: weight vector may not include negative values, such as {values.min()}")
    return np.nan_to_num(values)


def _drawn(n: int, seed: int, block: Any, weights: Any, number: int) -> tuple[Any, Any]:
    """Return the rows with the `n` smallest random numbers, in the order of those, and the numbers."""
    random = np.random.default_rng([seed, 0, number])
    if weights is None:
        numbers = random.random(len(block))
        order = np.argsort(numbers, kind="stable")[:n]
    else:
        values = _checked(weights)
        with np.errstate(divide="ignore"):
            numbers = random.exponential(size=len(block)) / values
        order = np.argsort(numbers, kind="stable")[: min(n, int((values > 0).sum()))]
    return numbers[order], block.iloc[order]


def _joined(n: int, seed: int, parts: list[tuple[Any, Any]]) -> tuple[Any, Any]:
    numbers = np.concatenate([part[0] for part in parts])
    order = np.argsort(numbers, kind="stable")[:n]
    return numbers[order], concat([part[1] for part in parts]).iloc[order]


def _drawn_again(n: int, seed: int, block: Any, weights: Any, number: int) -> tuple[Any, Any]:
    """Return the number, or the weight, of rows, and `n` rows drawn with replacement."""
    random = np.random.default_rng([seed, 0, number])
    values = None if weights is None else _checked(weights)
    total = len(block) if values is None else float(values.sum())
    if not total:
        return total, block.iloc[:0]
    if values is None:
        places = random.integers(0, len(block), n)
    else:
        places = random.choice(len(block), size=n, p=values / total)
    return total, block.iloc[places]


def _joined_again(n: int, seed: int, parts: list[tuple[Any, Any]]) -> tuple[Any, Any]:
    """Return rows of which each is that of one part at its place: of the part that has more rows more often."""
    filled = [part for part in parts if part[0]]
    if len(filled) < 2:
        return (filled or parts)[0]
    counts = np.array([part[0] for part in filled], dtype="float64")
    total = counts.sum()
    chosen = np.random.default_rng([seed, 1, int(total)]).choice(len(filled), size=n, p=counts / counts.sum())
    return total, concat([part[1] for part in filled]).iloc[chosen * n + np.arange(n)]


def _finished(
    n: int, replace: bool, is_weighted: bool, join: Callable[[list[Any]], tuple[Any, Any]], parts: list[tuple[Any, Any]]
) -> Any:
    found = join(parts)[1]
    if len(found) < n:
        raise ValueError(
            f"sample(n={n}): there are {len(found)} rows"
            + (" with a weight above 0" if is_weighted else "")
            + ("" if replace or not len(found) else "; replace=True draws rows several times")
        )
    return found


class RandomPiece(OfSameLabels):
    """One of the pieces into which the rows of each partition are split at random."""

    parameters = ("frame", "fractions", "piece", "shuffle", "seed")
    operation = "random-split"

    frame: FrameExpr
    fractions: tuple[float, ...]
    piece: int
    shuffle: bool
    seed: int

    @cached_property
    def meta(self) -> Any:
        return self.frame.meta

    @property
    def function(self) -> Callable[..., Any]:
        options = (self.fractions, self.piece, self.shuffle, self.seed)
        return BlockCall(_piece, (Block(0), Block(1), *options), label="random-split")

    def literals(self, index: tuple[int, ...]) -> tuple[Any, ...]:
        return index


def random_pieces(node: FrameExpr, fractions: Sequence[float], shuffle: bool, seed: int) -> list[FrameExpr]:
    """Return the nodes of the pieces of a frame, one a fraction.

    Raises
    ------
    OptionError
        If the fractions don't sum to 1.
    """
    try:
        parts = tuple(float(one) for one in np.atleast_1d(fractions))
    except (TypeError, ValueError) as error:
        raise OptionError(
            f"random_split: frac={fractions!r} should be a list of fractions that sum to 1, such as [0.9, 0.1]"
        ) from error
    if not parts or min(parts) < 0 or not np.isclose(sum(parts), 1.0):
        raise OptionError(f"random_split: frac={list(parts)!r} should be fractions that sum to 1")
    return [RandomPiece(node, parts, piece, bool(shuffle), seed) for piece in range(len(parts))]


def _piece(block: Any, number: int, fractions: tuple[float, ...], piece: int, shuffle: bool, seed: int) -> Any:
    random = np.random.default_rng([seed, number])
    chosen = random.choice(len(fractions), size=len(block), p=np.array(fractions) / sum(fractions))
    places = np.flatnonzero(chosen == piece)
    return block.iloc[random.permutation(places) if shuffle else places]
