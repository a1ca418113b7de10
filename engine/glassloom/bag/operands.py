"""What a call for each partition reads: the blocks of its bag, those of bags among its arguments, and values of other collections."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from glassloom.bag import blocks
from glassloom.bag.blocks import Constant, Shared
from glassloom.bag.nodes import Partitionwise, Single
from glassloom.collection import Collection
from glassloom.dataframe.call import Block, BlockCall
from glassloom.delayed_call import delayed
from glassloom.graph import function_label


class Operands:
    """The nodes that a call for each partition reads: those of its bag first, then those among its arguments."""

    def __init__(self, bag: Any) -> None:
        self.nodes: list[Any] = [bag.expr]
        self._npartitions = bag.npartitions
        self._bag_class = type(bag)

    def argument(self, arg: Any) -> Any:
        """Return how `blocks.mapped` finds an argument: the number of a bag among the other blocks, `Shared` or `Constant`."""
        number = self._place(arg)
        if number is None:
            return Constant(arg)
        return number - 1 if isinstance(arg, self._bag_class) else Shared(number - 1)

    def block(self, arg: Any) -> Any:
        """Return how a `BlockCall` finds an argument: a `Block`, or the argument itself."""
        number = self._place(arg)
        return arg if number is None else Block(number)

    def applied(self, function: Callable[..., Any], label: str) -> Partitionwise:
        """Return the node of a call with all blocks."""
        every = tuple([Block(number) for number in range(len(self.nodes))])
        return Partitionwise(tuple(self.nodes), BlockCall(function, every, label=label))

    def _place(self, arg: Any) -> int | None:
        if isinstance(arg, self._bag_class):
            if arg.npartitions != self._npartitions:
                raise ValueError(
                    f"a bag of {arg.npartitions} partitions is an argument beside one of {self._npartitions}: "
                    "repartition() one of them so that their items are at the same places"
                )
            self.nodes.append(arg.expr)
        elif isinstance(arg, Collection) or (
            isinstance(arg, (list, tuple, dict, set)) and delayed(arg).expr.dependencies
        ):
            self.nodes.append(Single(delayed(arg).expr))
        else:
            return None
        return len(self.nodes) - 1


class Items:
    """A function whose result is made a list of items."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.__name__ = function_label(function)

    def __glassloom_tokenize__(self) -> Any:
        return self.function

    def __reduce__(self) -> Any:
        return (Items, (self.function,))

    def __call__(self, *args: Any, **kwargs: Any) -> list[Any]:
        return blocks.as_items(self.function(*args, **kwargs))
