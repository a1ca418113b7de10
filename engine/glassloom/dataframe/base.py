"""`Frame`: the methods that frames, series and indexes share: those about partitions and rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd

from glassloom._users_functions import call_users_function
from glassloom.array.api.creation import from_delayed as array_of_delayed
from glassloom.array.api.joining import concatenate
from glassloom.backends.frames import converted
from glassloom.backends.pandas_ import concat, guarded, is_frame, rows_between
from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE
from glassloom.collection import Collection
from glassloom.dataframe.alignment import require_aligned
from glassloom.dataframe.argument_kinds import whole_number
from glassloom.dataframe.call import Attribute, BlockCall
from glassloom.dataframe.delayed_values import with_delayed_values
from glassloom.dataframe.divisions import cut_together, require_first_among
from glassloom.dataframe.explain import Explainable
from glassloom.dataframe.meta import checked_call, infer_meta, parse_meta
from glassloom.dataframe.moving.numbering import renumber
from glassloom.dataframe.moving.repartition import repartition
from glassloom.dataframe.moving.set_index import current_divisions
from glassloom.dataframe.moving.shape import Sample, SetDivisions
from glassloom.dataframe.moving.sort import ends_of_sorted
from glassloom.dataframe.nodes import BlockOp, Constant, FrameExpr, Held, LabelKeeping
from glassloom.dataframe.operators import Operators
from glassloom.dataframe.options import refused
from glassloom.dataframe.own_columns import mirror
from glassloom.dataframe.partition_info import NAME, information_of, informed, takes_information
from glassloom.dataframe.partitions import Partitions
from glassloom.dataframe.reduce import Length, join_all
from glassloom.dataframe.sampling import random_pieces, seed_of, some_rows
from glassloom.dataframe.select import Loc, first_rows, last_rows
from glassloom.dataframe.wrap import bind, in_order, operate, wrap
from glassloom.delayed_call import Delayed, call
from glassloom.errors import MetaError, OptionError
from glassloom.expr import simplify
from glassloom.graph import function_label


class Frame(Collection, Operators, Explainable):
    """A lazy pandas object in partitions."""

    _expr: FrameExpr

    def __init__(self, expr: Any = None, *others: Any, **options: Any) -> None:
        if others or options or not isinstance(expr, FrameExpr):
            name = type(self).__name__
            raise TypeError(
                f"{name}(...) of a {type(expr).__name__}: lazy objects are made by from_pandas(pandas.{name}(...), npartitions=...), "
                "from_dict(), from_map() and read_parquet(); a frame of lazy series by concat([one, other], axis=1), "
                "or one.to_frame().assign(name=other)"
            )
        super().__init__(expr)

    if TYPE_CHECKING:  # what the methods in one module call of those in another; the classes of collections have them

        def __getitem__(self, key: Any, /) -> Any: ...
        def __setitem__(self, key: Any, value: Any, /) -> None: ...
        def _assigned(self, columns: dict[Any, Any]) -> Any: ...
        def _reduce(
            self, how: str, axis: Any, options: dict[str, Any], numeric_only: bool, split_every: int | None
        ) -> Any: ...
        def assign(self, *args: Any, **kwargs: Any) -> Any: ...
        def corr(self, *args: Any, **kwargs: Any) -> Any: ...
        def count(self, *args: Any, **kwargs: Any) -> Any: ...
        def drop_duplicates(self, *args: Any, **kwargs: Any) -> Any: ...
        def drop(self, *args: Any, **kwargs: Any) -> Any: ...
        def groupby(self, *args: Any, **kwargs: Any) -> Any: ...
        def isna(self, *args: Any, **kwargs: Any) -> Any: ...
        def mask(self, *args: Any, **kwargs: Any) -> Any: ...
        def nunique(self, *args: Any, **kwargs: Any) -> Any: ...
        def select_dtypes(self, *args: Any, **kwargs: Any) -> Any: ...
        def shift(self, *args: Any, **kwargs: Any) -> Any: ...
        def to_frame(self, *args: Any, **kwargs: Any) -> Any: ...

    @property
    def expr(self) -> FrameExpr:
        """The expression that this collection stands for."""
        return self._expr

    @property
    def _meta(self) -> Any:
        """An empty object like the result, the caller's own: metas of nodes stand for all that look like them."""
        return guarded(self._expr.meta)

    def _with_expr(self, expr: Any) -> Self:
        is_new = isinstance(expr, Held) and expr is not self._expr
        if is_new and HAS_COPY_ON_WRITE and isinstance(expr.meta, (pd.DataFrame, pd.Series)):
            expr.mirror = mirror(self._expr)
        return wrap(expr)

    # Partitions.

    @property
    def npartitions(self) -> int:
        """Number of partitions."""
        return self._expr.npartitions

    @property
    def divisions(self) -> tuple[Any, ...]:
        """The index labels at which partitions begin and the last one ends; None for each if they are not known."""
        return self._expr.divisions

    @property
    def known_divisions(self) -> bool:
        """Whether the divisions are known."""
        return self.divisions[0] is not None

    @property
    def partitions(self) -> PartitionChooser:
        """The partitions by number: ``frame.partitions[3]``, ``[2:5]``, ``[[0, 2]]``. Each choice is a frame again."""
        return PartitionChooser(self)

    def get_partition(self, n: int) -> Self:
        """Return one partition, as a frame."""
        return self.partitions[n if isinstance(n, (slice, list)) else whole_number("get_partition", "n", n)]

    def repartition(
        self,
        npartitions: int | Sequence[Any] | Callable[[int], int] | None = None,
        *,
        divisions: Sequence[Any] | None = None,
        partition_size: int | str | None = None,
        freq: Any = None,
        force: bool = False,
    ) -> Self:
        """Return the same rows, in their order, in other partitions.

        Parameters
        ----------
        npartitions
            1 or more. With fewer than before, neighbours are joined; with more, partitions are cut by numbers of
            rows, and the divisions are not known any more. A function gets the number before. A list or tuple is `divisions`.
        divisions
            The labels at which partitions shall begin, and the last one. This frame's divisions must be known, and begin
            and end there.
        partition_size
            About how large partitions may be in memory, such as ``"100 MB"``. Computes how large they are.
        freq
            A period such as ``"1D"``, for times as index labels: partitions begin where it does.
        force
            Whether `divisions` may go beyond this frame's own. Without `divisions` it changes nothing.

        Examples
        --------
        >>> import glassloom.dataframe as gd
        >>> frame = gd.datasets.timeseries(end="2000-01-12")
        >>> frame.repartition(npartitions=3).npartitions, frame.repartition(freq="7D").npartitions
        (3, 2)
        """
        return wrap(repartition(self._expr, npartitions, divisions, partition_size, freq, force))

    def to_delayed(self, optimize_graph: bool = True) -> list[Delayed]:
        """Return one `Delayed` for each partition. `optimize_graph` is taken for compatibility with Dask: plans always are."""
        return [
            call(_same, (self.partitions[number],), {}, pure=True, label="partition")
            for number in range(self.npartitions)
        ]

    def map_partitions(
        self,
        func: Callable[..., Any],
        /,
        *args: Any,
        meta: Any = None,
        keep_divisions: bool = False,
        enforce_metadata: bool = True,
        transform_divisions: bool = True,
        align_dataframes: bool | None = None,
        clear_divisions: bool = False,
        **kwargs: Any,
    ) -> Any:
        """Call a function with each partition.

        Parameters
        ----------
        func
            Gets a pandas object, which it may change, and `args` and `kwargs`. Returns a pandas object; or an array, such as
            predictions for its rows: then the result is a lazy array, a block for each partition; or a value: then the
            result is a series of one value a partition. If it has an argument `partition_info`, it gets a dict with the
            ``"number"`` of the partition and the ``"division"`` where it begins; None where it is tried on made-up rows.
        args, kwargs
            Further arguments. Frames among them are taken partition by partition; those of one partition are given whole, and so is
            what a `Delayed` returns, such as a model.
        meta
            What the function returns: an empty pandas object, ``{"column": dtype}`` for a frame, or
            ``("name", dtype)`` for a series; or an empty array, of its axes and dtype. Default: the function is tried on two
            made-up rows; if it fails on these, on the first rows of the data, which are computed now if that takes few tasks.
        keep_divisions
            Whether rows keep index labels of their own partition, so that the divisions stay known.
        enforce_metadata
            Whether to check that the function returns what `meta` says.
        align_dataframes
            Whether frames among the arguments whose known divisions differ are cut anew, so that rows of equal labels meet. With False
            the function gets the partitions of one number, whatever their labels. Default: frames must be cut alike.
        transform_divisions, clear_divisions
            For compatibility with Dask: `keep_divisions` alone decides on divisions.

        Raises
        ------
        MetaError
            If the function fails on the rows on which it is tried; or, when computing, if it returns what `meta` doesn't say.

        Examples
        --------
        >>> import glassloom.dataframe as gd
        >>> frame = gd.datasets.timeseries(end="2000-01-03", freq="1h")
        >>> frame.map_partitions(len).compute().tolist()
        [24, 24]
        """
        if not callable(func):
            raise TypeError(f"map_partitions needs a function, got {type(func).__name__}")
        label = function_label(func)
        args, kwargs, has_delayed = with_delayed_values(args, kwargs)
        if has_delayed and meta is None:
            raise MetaError(
                f"map_partitions({label}): what a Delayed returns isn't known; say what the function returns with meta="
            )
        told = ""
        if takes_information(func, kwargs):
            func, kwargs = partial(informed, func), {**kwargs, NAME: information_of(self)}
            told = kwargs[NAME].expr.name
        nodes, plain = bind(func, (self, *args), kwargs, label=label)
        nodes, cut = _cut_for_function(nodes, told, f"map_partitions({label})", align_dataframes)
        if meta is None:
            found = infer_meta(
                BlockCall(partial(_call_guarded, func), plain.args, plain.kwargs, label), nodes, "map_partitions"
            )
        else:
            found = meta if isinstance(meta, np.ndarray) else parse_meta(meta, self._meta)
        if isinstance(found, np.ndarray) and found.ndim:
            return self._arrays_of(
                BlockCall(partial(_call_guarded, func), plain.args, plain.kwargs, label), nodes, found
            )
        if not is_frame(found):
            found = pd.Series([found])[:0]
        if clear_divisions and keep_divisions:
            raise OptionError("map_partitions: clear_divisions=True and keep_divisions=True contradict each other")
        checking = partial(_call_checked, func, found) if enforce_metadata else partial(_call_unchecked, func)
        made = BlockCall(checking, plain.args, plain.kwargs, label)
        if nodes[0].npartitions < cut[0].npartitions and not (keep_divisions or align_dataframes):
            first = nodes.index(cut[0])
            nodes, made = in_order(nodes, made, [first, *(place for place in range(len(nodes)) if place != first)])
        require_first_among(cut, nodes[0], f"map_partitions({label})")
        return wrap((MapKeeping if keep_divisions else Map)(nodes[0], tuple(nodes[1:]), made, found))

    def _arrays_of(self, function: BlockCall, nodes: Sequence[FrameExpr], like: np.ndarray) -> Any:
        """Return the arrays that a function makes of the partitions of some nodes as one lazy array."""
        count = max(node.npartitions for node in nodes)
        shape: tuple[Any, ...] = (math.nan, *like.shape[1:])
        blocks = []
        for number in range(count):
            parts = [wrap(node if node.npartitions == 1 else Partitions(node, (number,))) for node in nodes]
            made = call(function, tuple(parts), {}, pure=True, label=function.label)
            blocks.append(array_of_delayed(made, shape, like.dtype))
        return concatenate(blocks) if count > 1 else blocks[0]

    # Rows.

    @property
    def loc(self) -> Loc:
        """Rows by label: ``loc[start:stop]`` (both included) or ``loc[condition]``, and ``loc[rows, columns]``."""
        return Loc(self)

    def _computed_by_pandas(self) -> Any:
        """Compute, and return a pandas object, wherever the partitions are."""
        return converted(self.compute(), "pandas")

    def __len__(self) -> int:
        """Return the number of rows: without computing if the source knows it."""
        (simple,) = simplify([Length(self._expr)])
        if isinstance(simple, Constant):
            return int(simple.value)
        return int(Collection(simple).compute())

    def head(self, n: int = 5, npartitions: int | None = None, *, compute: bool = True) -> Any:
        """Return the first rows, as a pandas object.

        Parameters
        ----------
        n
            Number of rows.
        npartitions
            How many partitions to look into; -1 for all. Default: as many as it takes to find `n` rows, the first one first.
        compute
            With False a lazy frame of one partition is returned, out of the first partition if `npartitions` is None.

        Examples
        --------
        >>> import glassloom.dataframe as gd
        >>> gd.datasets.timeseries(seed=1).head(3).shape
        (3, 4)
        """
        if npartitions is not None or not compute:
            some = self._first_or_last_rows(n, range(self._count(npartitions)), first_rows)
            return some.compute() if compute else some
        return self._search(n, lambda done, count: range(done, min(done + count, self.npartitions)), first_rows)

    def tail(self, n: int = 5, npartitions: int | None = None, *, compute: bool = True) -> Any:
        """Return the last rows, as a pandas object. See `head`."""
        end = self.npartitions
        if npartitions is not None or not compute:
            some = self._first_or_last_rows(n, range(end - self._count(npartitions), end), last_rows)
            return some.compute() if compute else some
        return self._search(n, lambda done, count: range(max(end - done - count, 0), end - done), last_rows)

    def _count(self, npartitions: int | None) -> int:
        if npartitions is None:
            return 1
        if npartitions == -1:
            return self.npartitions
        if not isinstance(npartitions, int) or not 1 <= npartitions <= self.npartitions:
            raise OptionError(f"npartitions={npartitions!r} should be -1 or 1 to {self.npartitions}")
        return npartitions

    def _first_or_last_rows(self, n: int, numbers: range, take: Callable[[FrameExpr, int], FrameExpr]) -> Any:
        """Return the lazy first or last rows of some partitions."""
        if len(numbers) == self.npartitions and (found := self._ends_of_sorted(n, take)) is not None:
            return wrap(found)
        some = take(Partitions(self._expr, tuple(numbers)), n)
        return wrap(some if len(numbers) == 1 else take(join_all(some), n))

    def _ends_of_sorted(self, n: int, take: Callable[[FrameExpr, int], FrameExpr]) -> FrameExpr | None:
        return ends_of_sorted(self._expr, n, is_last=take is last_rows)

    def _search(self, n: int, numbers: Callable[[int, int], range], take: Callable[[FrameExpr, int], FrameExpr]) -> Any:
        """Return the first or last `n` rows: look into one partition, then into twice as many at a time."""
        if not isinstance(n, (int, np.integer)):
            raise TypeError(f"n={n!r} should be a number of rows")
        if n < 0:  # all but the last, or first, n rows
            return wrap(take(join_all(self._expr), n)).compute()
        if (ends := self._ends_of_sorted(n, take)) is not None:
            return wrap(ends).compute()
        found: list[Any] = []
        done, count = 0, 1
        while True:
            chosen = numbers(done, count)
            block = self._first_or_last_rows(n, chosen, take).compute()
            found = [*found, block] if take is first_rows else [block, *found]
            done, count = done + len(chosen), count * 2
            if sum(map(len, found)) >= n or done >= self.npartitions:
                whole = concat(found)
                return rows_between(whole, *((None, n) if take is first_rows else (max(len(whole) - n, 0), None)))

    def sample(
        self,
        n: int | None = None,
        frac: float | None = None,
        replace: bool = False,
        weights: Any = None,
        random_state: Any = None,
        *,
        ignore_index: bool = False,
    ) -> Self:
        """Return rows drawn at random: a fraction of each partition's, or a number of all.

        Parameters
        ----------
        n
            How many rows; they are in one partition, in random order. Default: 1, if `frac` isn't given.
        frac
            Fraction of the rows, 0 to 1 (more with `replace`), of each partition by itself.
        replace
            Whether a row may be drawn several times.
        weights
            With `n`: how likely each row is drawn, in proportion to these: the name of a column, or a lazy series of the same rows. A row
            whose weight is 0 or missing is never drawn.
        random_state
            A seed, a NumPy generator or None: equal seeds give equal rows.
        ignore_index
            Whether to number the result's rows from 0.

        Raises
        ------
        ValueError
            When computing, if there are fewer than `n` rows, or weights are negative, infinite or all 0.
        """
        if n is not None and frac is not None:
            raise ValueError(f"sample: give n={n!r} or frac={frac!r}, not both")
        if weights is not None and frac is not None:
            raise refused("sample", "weights", weights, "a fraction is drawn of each partition by itself; give n=")
        seed = seed_of(random_state)
        if frac is None:
            count = 1 if n is None else n
            if not isinstance(count, (int, np.integer)) or count < 0:
                raise OptionError(f"sample: n={n!r} should be a number of rows; a fraction is frac={n!r}")
            made: FrameExpr = some_rows(self._expr, int(count), replace, seed, self._weights(weights))
        else:
            if not isinstance(frac, (int, float)) or frac < 0 or (frac > 1 and not replace):
                raise OptionError(f"frac={frac!r} should be between 0 and 1")
            made = Sample(self._expr, float(frac), replace, seed)
        return wrap(renumber(made) if ignore_index else made)

    def _weights(self, weights: Any) -> FrameExpr | None:
        """Return the node of the weights of rows that are drawn."""
        if isinstance(weights, str) and isinstance(self._meta, pd.DataFrame):
            if weights not in self._meta.columns:
                raise KeyError(f"String passed to weights not a valid column: {weights!r}")
            weights = self[weights]
        if weights is None:
            return None
        if not isinstance(weights, Frame) or not isinstance(weights.expr.meta, pd.Series):
            raise refused(
                "sample", "weights", weights, "it takes the name of a column, or a lazy series of the same rows"
            )
        require_aligned([self._expr, weights.expr], "sample(weights=)")
        return weights.expr

    def random_split(self, frac: Sequence[float], random_state: Any = None, shuffle: bool = False) -> list[Self]:
        """Split the rows at random into frames of about these fractions of them, such as those to train and to test with.

        Parameters
        ----------
        frac
            Fractions that sum to 1. Rows of each partition are split by themselves.
        random_state
            A seed, a NumPy generator or None: equal seeds give equal frames.
        shuffle
            Whether to put the rows of each partition into random order.

        Examples
        --------
        >>> import glassloom.dataframe as gd
        >>> train, test = gd.datasets.timeseries(freq="1min", seed=1).random_split([0.9, 0.1], random_state=1)
        >>> 0.05 < len(test) / (len(train) + len(test)) < 0.15
        True
        """
        return [wrap(node) for node in random_pieces(self._expr, frac, shuffle, seed_of(random_state))]

    def compute_current_divisions(self, col: Any = None, set_divisions: bool = False) -> Any:
        """Compute the divisions: the labels at which partitions begin, and the last one.

        Parameters
        ----------
        col
            A column of a frame, in place of the index. Default: the index, whose divisions are computed only if they aren't known.
        set_divisions
            Whether this frame shall know them from now on, in place; it is returned, as by Dask.

        Raises
        ------
        DivisionError
            If the partitions aren't in order.
        """
        if col is None and self.known_divisions:
            return self if set_divisions else self.divisions
        if set_divisions and col is not None:
            raise refused("compute_current_divisions", "set_divisions", set_divisions, "set_index(col, sorted=True)")
        keys = operate(Attribute("index"), self).to_series().expr if col is None else self[col].expr
        found = current_divisions(keys, col or "the index")
        if set_divisions:
            self._expr = SetDivisions(self._expr, found)
            return self
        return found

    def optimize(self, fuse: bool = True) -> Self:
        """Return an equal object whose plan is rewritten already. Plans are whenever they are computed."""
        (node,) = simplify([self._expr])
        return wrap(node)  # type: ignore[arg-type]


def _cut_for_function(
    nodes: list[FrameExpr], told: str, what: str, align: bool | None
) -> tuple[list[FrameExpr], list[FrameExpr]]:
    """Return the nodes whose partitions a function gets, and those of them that it gets one by one. `told`: the name of what it's told of these."""
    given = [node for node in nodes if node.name != told]
    made, cut = cut_together(given, what, align)
    if told:
        made.insert(len(nodes) - 1, information_of(wrap(cut[0])).expr)
    return made, cut


class Map(BlockOp):
    """A user's function, called with each partition."""

    parameters = ("frame", "others", "call", "given_meta")

    given_meta: Any

    @property
    def meta(self) -> Any:
        return self.given_meta


class MapKeeping(LabelKeeping):
    """A user's function, called with each partition, which the user has said keeps index labels in their partitions."""

    parameters = ("frame", "others", "call", "given_meta")

    given_meta: Any

    @property
    def meta(self) -> Any:
        return self.given_meta


class PartitionChooser:
    """``frame.partitions``: a sequence of frames of one partition each."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame

    def __len__(self) -> int:
        return self._frame.npartitions

    def __iter__(self) -> Iterator[Any]:
        return (self[number] for number in range(len(self)))

    def __getitem__(self, key: int | slice | Sequence[int]) -> Any:
        count = self._frame.npartitions
        if isinstance(key, slice):
            numbers = list(range(count)[key])
        else:
            numbers = [self._number(one) for one in ([key] if isinstance(key, (int, np.integer)) else key)]
        if not numbers:
            raise IndexError(f"partitions[{key!r}] chooses none of the {count} partitions")
        return wrap(Partitions(self._frame.expr, tuple(numbers)))

    def _number(self, key: Any) -> int:
        count = self._frame.npartitions
        if not isinstance(key, (int, np.integer)) or not -count <= key < count:
            raise IndexError(f"partition {key!r} doesn't exist; there are {count}, numbered from 0")
        return int(key) % count


def _same(value: Any) -> Any:
    return value


def _call_guarded(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    named = {name: guarded(value) for name, value in kwargs.items()}
    return call_users_function(function, *map(guarded, args), **named)


def _call_unchecked(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    result = _call_guarded(function, *args, **kwargs)
    return result if is_frame(result) else pd.Series([result])


def _call_checked(function: Callable[..., Any], meta: Any, /, *args: Any, **kwargs: Any) -> Any:
    named = {name: guarded(value) for name, value in kwargs.items()}
    return checked_call(function, meta, *map(guarded, args), **named)
