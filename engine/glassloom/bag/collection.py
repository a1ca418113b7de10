"""`Bag`: a lazy collection of any Python objects in partitions. Its methods check arguments and make nodes."""

from __future__ import annotations

import builtins
import secrets
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from random import Random
from typing import Any

from glassloom.backends.sizeof import sizeof
from glassloom.bag import blocks
from glassloom.bag.blocks import NOTHING, Constant
from glassloom.bag.card import bag_html
from glassloom.bag.grouping import Grouped
from glassloom.bag.nodes import Accumulated, BagExpr, Numbered, Partitionwise, Product
from glassloom.bag.operands import Items, Operands
from glassloom.bag.partitions import chosen, positive, repartitioned, resized, taken
from glassloom.bag.reductions import reduced, reduced_value
from glassloom.bag.strings import Strings
from glassloom.collection import Collection
from glassloom.dataframe.call import Block, BlockCall
from glassloom.delayed_call import Delayed, call, delayed
from glassloom.errors import OptionError
from glassloom.graph import function_label
from glassloom.reprs.live_blocks import show_blocks
from glassloom.units import parse_bytes


class Bag(Collection):
    """A lazy collection of Python objects, in no order that counts except where a method says so, with repetition.

    Each partition is a list. Methods take Python functions and run them for each partition in a task; those that are chained run in
    one task. Threads run Python functions one after the other; use a `Client` for functions that take long.

    Examples
    --------
    >>> import glassloom.bag as gb
    >>> bag = gb.from_sequence(range(10), npartitions=3)
    >>> bag.filter(lambda n: n % 2).map(lambda n: n * n).compute()
    [1, 9, 25, 49, 81]
    >>> bag.sum().compute(), bag.max().compute(), bag.mean().compute()
    (45, 9, 4.5)
    """

    _expr: BagExpr

    @property
    def expr(self) -> BagExpr:
        """The expression that this collection stands for."""
        return self._expr

    @property
    def npartitions(self) -> int:
        """Number of partitions."""
        return self._expr.npartitions

    @property
    def str(self) -> Strings:
        """The methods of strings, for each item: ``bag.str.strip()``; ``bag.str.match("a*")`` chooses items."""
        return Strings(self)

    def __repr__(self) -> builtins.str:
        return f"Bag({self.name}, npartitions={self.npartitions})"

    def _repr_html_(self) -> Any:
        return bag_html(self)

    def _ipython_display_(self) -> None:
        show_blocks(self, bag_html)

    def __iter__(self) -> Iterator[Any]:
        """Compute all items and iterate over them."""
        return iter(self.compute())

    # Item by item.

    def map(self, func: Callable[..., Any], *args: Any, **kwargs: Any) -> Bag:
        """Call a function with each item.

        Parameters
        ----------
        func
            What is called.
        args, kwargs
            Further arguments: another bag of as many partitions and items, whose items are taken along one by one; a delayed
            value or another lazy collection, whose value goes to all calls; or any object, which goes to all calls.

        Examples
        --------
        >>> import glassloom.bag as gb
        >>> bag = gb.from_sequence([1, 2, 3])
        >>> bag.map(pow, 2).compute(), bag.map(max, bag.map(abs), bag.max()).compute()
        ([1, 4, 9], [3, 3, 3])
        """
        found = Operands(self)
        each = [found.argument(arg) for arg in args]
        named = {name: found.argument(value) for name, value in kwargs.items()}
        return Bag(found.applied(partial(blocks.mapped, func, each, named), f"map-{function_label(func)}"))

    def starmap(self, func: Callable[..., Any], **kwargs: Any) -> Bag:
        """Call a function with the parts of each item, which is a tuple: ``func(*item, **kwargs)``.

        Examples
        --------
        >>> import glassloom.bag as gb
        >>> gb.from_sequence([(1, 2), (3, 4)]).starmap(divmod).compute()
        [(0, 1), (0, 3)]
        """
        return self._each(blocks.starmapped, func, kwargs, label=f"starmap-{function_label(func)}")

    def filter(self, predicate: Callable[[Any], Any]) -> Bag:
        """Return the items for which a function returns what is true."""
        return self._each(blocks.filtered, predicate, True, label=f"filter-{function_label(predicate)}")

    def remove(self, predicate: Callable[[Any], Any]) -> Bag:
        """Return the items for which a function returns what is false."""
        return self._each(blocks.filtered, predicate, False, label=f"remove-{function_label(predicate)}")

    def pluck(self, key: Any, default: Any = NOTHING) -> Bag:
        """Return ``item[key]`` of each item.

        Parameters
        ----------
        key
            A key or a place; or a list of those, for tuples of them.
        default
            What to take where an item has no such key. Default: that is an error.

        Examples
        --------
        >>> import glassloom.bag as gb
        >>> gb.from_sequence([{"name": "Ada", "born": 1815}, {"name": "Alan"}]).pluck("born", None).compute()
        [1815, None]
        """
        return self._each(blocks.plucked, key, default, label="pluck")

    def flatten(self) -> Bag:
        """Return the items of the items, which are iterable."""
        return self._each(blocks.flattened, label="flatten")

    def unzip(self, n: int) -> tuple[Bag, ...]:
        """Return `n` bags: of the first parts of the items, of the second ones, and so on."""
        return tuple([self.pluck(place) for place in range(n)])

    def random_sample(self, prob: float, random_state: Any = None) -> Bag:
        """Return each item with a probability.

        Parameters
        ----------
        prob
            From 0 to 1.
        random_state
            A seed, or a `random.Random`: equal seeds choose equal items of equal partitions. Default: chosen once, here.

        Raises
        ------
        OptionError
            If `prob` is no probability.
        """
        if not 0 <= prob <= 1:
            raise OptionError(f"prob={prob!r} should be a probability, from 0 to 1")
        if isinstance(random_state, Random):
            random_state = random_state.getrandbits(64)
        seed = secrets.token_hex(8) if random_state is None else f"{random_state}"
        return Bag(Numbered((self._expr,), BlockCall(partial(blocks.sampled, prob, seed), (Block(0), Block(1)), label="random-sample")))  # fmt: skip

    def map_partitions(self, func: Callable[..., Any], *args: Any, **kwargs: Any) -> Bag:
        """Call a function with each partition, which is a list.

        Parameters
        ----------
        func
            Returns a list, another sequence, a set or an iterator of items. A value that holds none is one item.
        args, kwargs
            Further arguments: the partitions of other bags, as many; the values of lazy collections; or any objects.

        Examples
        --------
        >>> import glassloom.bag as gb
        >>> gb.from_sequence(range(5), npartitions=2).map_partitions(len).compute()
        [2, 3]
        """
        found = Operands(self)
        places = [found.block(arg) for arg in args]
        named = {name: found.block(value) for name, value in kwargs.items()}
        label = function_label(func)
        made = BlockCall(Items(func), (Block(0), *places), named, label=label)
        return Bag(Partitionwise(tuple(found.nodes), made))

    # With other bags.

    def product(self, other: Bag) -> Bag:
        """Return all pairs of an item of this bag and one of another."""
        return Bag(Product(self._expr, _bag_of(other, "product")._expr))

    def join(self, other: Any, on_self: Any, on_other: Any = None) -> Bag:
        """Return pairs of an item of another collection and an item of this one that have the same key.

        Parameters
        ----------
        other
            A list or other iterable, a delayed one, or a bag. All of it goes to each task, so it should be the smaller one.
        on_self, on_other
            Functions of an item that return its key; or what to look up in it. Default of the second: the first.

        Examples
        --------
        >>> import glassloom.bag as gb
        >>> people = gb.from_sequence(["Alice", "Bob", "Charlie"])
        >>> people.join(["Apple", "Apricot", "Banana"], lambda name: name[0]).compute()
        [('Apple', 'Alice'), ('Apricot', 'Alice'), ('Banana', 'Bob')]
        """
        found = Operands(self)
        own = blocks.key_function(on_self)
        others = own if on_other is None else blocks.key_function(on_other)
        value = delayed(other) if isinstance(other, Collection) else Constant(list(other))
        place = found.block(value) if isinstance(value, Collection) else value.value
        made = BlockCall(partial(blocks.looked_up, own, others), (Block(0), place), label="join")
        return Bag(Partitionwise(tuple(found.nodes), made))

    # Groups.

    def groupby(self, grouper: Any, npartitions: int | None = None) -> Bag:
        """Return pairs of a key and the list of all items with this key. All items move; `foldby` moves less.

        The items of a group keep their order. Partitions that don't fit into memory go to disk.

        Parameters
        ----------
        grouper
            A function of an item that returns its key, which can be hashed; or what to look up in it.
        npartitions
            How many partitions the result has. Default: as many as this bag.

        Examples
        --------
        >>> import glassloom.bag as gb
        >>> odd = gb.from_sequence(range(5)).groupby(lambda n: n % 2)
        >>> sorted(odd.compute())
        [(0, [0, 2, 4]), (1, [1, 3])]
        """
        count = self.npartitions if npartitions is None else positive(npartitions, "npartitions")
        return Bag(Grouped(self._expr, blocks.key_function(grouper), count))

    def foldby(
        self,
        key: Any,
        binop: Callable[[Any, Any], Any],
        initial: Any = NOTHING,
        combine: Callable[[Any, Any], Any] | None = None,
        combine_initial: Any = NOTHING,
        *,
        split_every: int | None = None,
    ) -> Bag:
        """Return pairs of a key and what a function has made of its items, one after the other. One partition.

        Parameters
        ----------
        key
            A function of an item that returns its key; or what to look up in it.
        binop
            A function of what is there so far and the next item.
        initial
            What is there at first, in each partition. Default: the first item.
        combine
            A function of the results of two partitions. Default: `binop`.
        combine_initial
            What is there at first when results of partitions are combined; it may be used several times.
        split_every
            How many partitions' results are combined at a time; default 8.

        Examples
        --------
        >>> import glassloom.bag as gb
        >>> bag = gb.from_sequence(range(10), npartitions=3)
        >>> sorted(bag.foldby(lambda n: n % 2, lambda total, n: total + n, 0, lambda a, b: a + b))
        [(0, 20), (1, 25)]
        """
        joined = combine or binop
        return self._reduced(
            partial(blocks.folded_by, blocks.key_function(key), binop, initial),
            partial(blocks.joined_folds, joined, combine_initial),
            partial(blocks.all_folds, joined, combine_initial),
            "foldby",
            split_every,
        )

    def frequencies(self, split_every: int | None = None, sort: bool = False) -> Bag:
        """Return pairs of an item and how often it occurs; with `sort` the most frequent first. One partition."""
        finish = partial(blocks.all_counts, sort)
        return self._reduced(blocks.counted, blocks.joined_counts, finish, "frequencies", split_every)

    def distinct(self, key: Any = None) -> Bag:
        """Return each item once; or one item for each key: those that come first. One partition.

        Parameters
        ----------
        key
            A function of an item that returns its key; or what to look up in it. Default: the item itself.
        """
        found = None if key is None else blocks.key_function(key)
        joined = partial(blocks.distinct_of, found)
        return self._reduced(partial(blocks.distinct, found), joined, joined, "distinct", None)

    def topk(self, k: int, key: Any = None, split_every: int | None = None) -> Bag:
        """Return the `k` largest items, the largest first. One partition.

        Parameters
        ----------
        k
            1 or more.
        key
            A function of an item that returns what is compared; or what to look up in it.
        split_every
            How many partitions' results are combined at a time; default 8.
        """
        found = None if key is None else blocks.key_function(key)
        joined = partial(blocks.largest_of, positive(k, "k"), found)
        return self._reduced(partial(blocks.largest, k, found), joined, joined, "topk", split_every)

    # To one value.

    def reduction(
        self,
        perpartition: Callable[[list[Any]], Any],
        aggregate: Callable[[list[Any]], Any],
        split_every: int | bool | None = None,
        out_type: type[Bag] | type[Delayed] = Delayed,
        name: builtins.str | None = None,
    ) -> Any:
        """Reduce each partition, then the list of results, in a tree.

        Parameters
        ----------
        perpartition
            A function of a partition, a list, which returns a partial result.
        aggregate
            A function of a list of partial results, which returns one.
        split_every
            How many are aggregated at a time; default 8; False: all at once.
        out_type
            `Bag`, if the result is a list of items.
        name
            What the tasks are called. Default: the function's name.

        Returns
        -------
        Delayed or Bag

        Examples
        --------
        >>> import glassloom.bag as gb
        >>> gb.from_sequence(range(10), npartitions=3).reduction(sum, sum).compute()
        45
        """
        title = name or f"reduction-{function_label(perpartition)}"
        if out_type is Bag:
            return self._reduced(perpartition, aggregate, Items(aggregate), title, split_every)
        return self._value(perpartition, aggregate, aggregate, title, split_every)

    def fold(
        self,
        binop: Callable[[Any, Any], Any],
        combine: Callable[[Any, Any], Any] | None = None,
        initial: Any = NOTHING,
        split_every: int | None = None,
    ) -> Delayed:
        """Join all items by a function of two arguments.

        Parameters
        ----------
        binop
            A function of what is there so far and the next item.
        combine
            A function of the results of two partitions. Default: `binop`.
        initial
            What is there at first, in each partition. Default: its first item.
        split_every
            How many partitions' results are combined at a time; default 8.

        Raises
        ------
        ValueError
            When computing: if there is neither an item nor `initial`.

        Examples
        --------
        >>> import operator
        >>> import glassloom.bag as gb
        >>> gb.from_sequence([1, 2, 3, 4], npartitions=2).fold(operator.mul).compute()
        24
        """
        joined = combine or binop
        return self._value(
            partial(blocks.folded, binop, initial),
            partial(blocks.combined, joined),
            partial(blocks.folded_to_end, joined),
            f"fold-{function_label(binop)}",
            split_every,
        )

    def accumulate(self, binop: Callable[[Any, Any], Any], initial: Any = NOTHING) -> Bag:
        """Return the running results of a function of two arguments, in the order of the items.

        Parameters
        ----------
        binop
            A function of what is there so far and the next item.
        initial
            What comes first. Default: the first item.

        Examples
        --------
        >>> import operator
        >>> import glassloom.bag as gb
        >>> gb.from_sequence([1, 2, 3, 4], npartitions=2).accumulate(operator.add).compute()
        [1, 3, 6, 10]
        """
        return Bag(Accumulated(self._expr, binop, initial))

    def count(self, split_every: int | None = None) -> Delayed:
        """Return the number of items."""
        return self._value(len, sum, sum, "count", split_every)

    def sum(self, split_every: int | None = None) -> Delayed:
        """Return the sum of all items; 0 if there is none."""
        return self._value(sum, sum, sum, "sum", split_every)

    def max(self, split_every: int | None = None) -> Delayed:
        """Return the largest item; `ValueError` when computing if there is none."""
        return self._extreme(max, split_every)

    def min(self, split_every: int | None = None) -> Delayed:
        """Return the least item; `ValueError` when computing if there is none."""
        return self._extreme(min, split_every)

    def any(self, split_every: int | None = None) -> Delayed:
        """Return whether any item is true."""
        return self._value(any, any, any, "any", split_every)

    def all(self, split_every: int | None = None) -> Delayed:
        """Return whether all items are true."""
        return self._value(all, all, all, "all", split_every)

    def mean(self) -> Delayed:
        """Return the mean of all items, which are numbers."""
        return self._value(blocks.moments, blocks.joined_moments, blocks.mean_of, "mean", None)

    def var(self, ddof: int = 0) -> Delayed:
        """Return the variance of all items, which are numbers: the squares' sum is divided by the count less `ddof`."""
        return self._value(blocks.moments, blocks.joined_moments, partial(blocks.variance_of, ddof, False), "var", None)

    def std(self, ddof: int = 0) -> Delayed:
        """Return the standard deviation of all items, which are numbers. See `var`."""
        return self._value(blocks.moments, blocks.joined_moments, partial(blocks.variance_of, ddof, True), "std", None)

    # Partitions.

    def take(self, k: int, npartitions: int = 1, compute: bool = True, warn: bool = True) -> Any:
        """Return the first `k` items, computing no more than the partitions that are looked at.

        Parameters
        ----------
        k
            How many.
        npartitions
            In how many partitions to look; -1: in all.
        compute
            False returns a bag of one partition.
        warn
            Whether to warn if there are fewer.

        Returns
        -------
        tuple or Bag
        """
        found = taken(self._expr, k, npartitions)
        made = Bag(found)
        if not compute:
            return made
        items = tuple(made.compute())
        if warn and len(items) < k:
            warnings.warn(
                f"take({k}) found {len(items)} items in {found.source.npartitions} of {self.npartitions} partitions; npartitions=-1 looks in all",
                stacklevel=2,
            )
        return items

    def repartition(self, npartitions: int | None = None, partition_size: int | builtins.str | None = None) -> Bag:
        """Return the same items, in their order, in other partitions.

        Parameters
        ----------
        npartitions
            How many: fewer join neighbours, more cut each into about equal parts.
        partition_size
            About how many bytes a partition may have in memory, such as ``"100 MB"``. Computes how large they are.
        """
        if (npartitions is None) == (partition_size is None):
            raise OptionError("repartition() takes either npartitions or partition_size")
        if partition_size is None:
            return Bag(repartitioned(self._expr, positive(npartitions, "npartitions")))
        wanted_bytes = parse_bytes(partition_size)
        if wanted_bytes < 1:
            raise OptionError(f"partition_size={wanted_bytes!r} should be 1 byte or more")
        return Bag(resized(self._expr, self.map_partitions(sizeof).compute(), wanted_bytes))

    def to_delayed(self) -> list[Delayed]:
        """Return one `Delayed` for each partition: a list of its items."""
        return [call(blocks.same, (Bag(chosen(self._expr, [number])),), {}, pure=True, label="partition") for number in range(self.npartitions)]  # fmt: skip

    # To elsewhere.

    def to_dataframe(self, meta: Any = None, columns: Any = None) -> Any:
        """Return a lazy frame with a row for each item.

        Parameters
        ----------
        meta
            An empty pandas frame like the partitions, or columns and dtypes. Default: the first item is computed, here and now.
        columns
            The names of the columns, for items that are tuples; or which of them, for dicts.

        Examples
        --------
        >>> import glassloom.bag as gb
        >>> bag = gb.from_sequence([{"name": "Ada", "born": 1815}, {"name": "Alan", "born": 1912}])
        >>> int(bag.to_dataframe().born.max().compute())
        1912
        """
        from glassloom.bag.frames import to_dataframe  # imports all of pandas' API

        return to_dataframe(self, meta, columns)

    def to_textfiles(
        self, path: Any, name_function: Callable[[int], builtins.str] | None = None, **options: Any
    ) -> Any:
        """Write one file of lines a partition. See `glassloom.bag.to_textfiles`."""
        from glassloom.bag.text_files import to_textfiles

        return to_textfiles(self, path, name_function, **options)

    def to_avro(self, *_: Any, **__: Any) -> Any:
        """Not there."""
        raise NotImplementedError("to_avro isn't there; to_dataframe().to_parquet() and to_textfiles() are")

    # How it is done.

    def _each(self, function: Callable[..., Any], *args: Any, label: builtins.str) -> Bag:
        return Bag(Partitionwise((self._expr,), BlockCall(partial(function, *args), (Block(0),), label=label)))

    def _reduced(self, chunk: Any, combine: Any, finish: Any, title: builtins.str, split_every: Any) -> Bag:
        return Bag(reduced(self._expr, chunk, combine, finish, title, split_every))

    def _value(self, chunk: Any, combine: Any, finish: Any, title: builtins.str, split_every: Any) -> Delayed:
        return Delayed(reduced_value(self._expr, chunk, combine, finish, title, split_every))

    def _extreme(self, choose: Callable[..., Any], split_every: int | None) -> Delayed:
        chunk, finish = partial(blocks.extreme, choose), partial(blocks.extreme_at_end, choose)
        return self._value(chunk, chunk, finish, choose.__name__, split_every)


def _bag_of(other: Any, method: str) -> Bag:
    if not isinstance(other, Bag):
        raise TypeError(f"{method}() takes a bag, got {type(other).__name__}; see from_sequence()")
    return other
