"""What is said of a frame's size, its values as lazy arrays, and reductions by functions of one's own."""

from __future__ import annotations

import io
import math
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from glassloom._users_functions import call_users_function
from glassloom.array.api.creation import from_delayed
from glassloom.array.api.joining import concatenate
from glassloom.backends.pandas_ import guarded, is_frame, sample
from glassloom.dataframe.argument_kinds import options_of, require_function
from glassloom.dataframe.base import Frame
from glassloom.dataframe.columns import require_columns
from glassloom.dataframe.lazy_closures import of_samples_at_hand, require_at_hand_values
from glassloom.dataframe.meta import parse_meta
from glassloom.dataframe.nodes import empty
from glassloom.dataframe.reduce import Operation, tree
from glassloom.dataframe.resample import Resampler, require_usual, resample
from glassloom.dataframe.wrap import wrap
from glassloom.delayed_call import call
from glassloom.errors import OptionError
from glassloom.graph import function_label


class Measuring(Frame):
    """Methods of frames and series."""

    @property
    def values(self) -> Any:
        """The values as a lazy array; the lengths of its blocks aren't known unless those of the partitions are."""
        return self.to_array()

    def to_array(self, lengths: Any = None) -> Any:
        """Return the values as a lazy array, a block for each partition.

        Parameters
        ----------
        lengths
            The lengths of the partitions; True computes them. Default: as far as they are known without computing.
        """
        return self._as_array(_values, lengths)

    def _as_array(self, values: Callable[[Any], Any], lengths: Any) -> Any:
        """Return the arrays that a function makes of the partitions as one lazy array."""
        if lengths is True:
            lengths = [int(one) for one in self.map_partitions(len).compute()]
        if lengths is not None and not isinstance(lengths, (list, tuple, np.ndarray)):
            raise OptionError(
                f"lengths={lengths!r} should be a list of the partitions' numbers of rows, or True to compute them"
            )
        rows = self._expr.lengths if lengths is None else tuple(lengths)
        if rows is not None and len(rows) != self.npartitions:
            raise OptionError(f"lengths={lengths!r} has {len(rows)} numbers for {self.npartitions} partitions")
        like = values(sample(self._meta))
        dtypes = self._meta.dtypes if isinstance(self._meta, pd.DataFrame) else [self._meta.dtype]
        if like.dtype != object and not all(isinstance(dtype, np.dtype) for dtype in dtypes):  # some may be missing
            values = partial(_of_dtype, values, like.dtype)
        shapes: list[tuple[Any, ...]] = [
            (math.nan if rows is None else rows[number], *like.shape[1:]) for number in range(self.npartitions)
        ]
        made = [
            from_delayed(call(values, (part,), {}, pure=True, label="values"), shapes[number], like.dtype)
            for number, part in enumerate(self.partitions)
        ]
        return concatenate(made) if len(made) > 1 else made[0]

    def to_dask_array(self, lengths: Any = None, meta: Any = None) -> Any:
        """Return the values as a lazy array (one of Glassloom's). See `to_array`."""
        return self.to_array(lengths)

    @property
    def nbytes(self) -> Any:
        """The bytes of the values, lazily."""
        return wrap(tree(self._expr, Operation(_nbytes, sum, sum), 0, "nbytes"))

    def memory_usage_per_partition(self, index: bool = True, deep: bool = False) -> Any:
        """Return the bytes of each partition as a series."""
        return self.map_partitions(_bytes_of, index=index, deep=deep, meta=(None, "int64"))

    def clear_divisions(self) -> Any:
        """Return the same rows without known divisions."""
        return self.map_partitions(_same, meta=self._meta)

    def reduction(
        self,
        chunk: Callable[..., Any],
        aggregate: Callable[..., Any] | None = None,
        combine: Callable[..., Any] | None = None,
        /,
        meta: Any = None,
        token: str | None = None,
        split_every: int | None = None,
        chunk_kwargs: dict[str, Any] | None = None,
        aggregate_kwargs: dict[str, Any] | None = None,
        combine_kwargs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> Any:
        """Reduce the rows by functions of your own.

        Parameters
        ----------
        chunk
            Gets a partition; returns a value, a series or a frame.
        aggregate
            Gets the results of all partitions, values as one series, series as the rows of a frame, and frames one after
            the other. Returns the result. Default: `chunk`.
        combine
            The same on the way, of some of the results. Default: `aggregate`.
        meta
            The result: an empty pandas object, or a value. Default: the functions are tried on two made-up rows.
        token
            What to call it on dashboards.
        split_every
            How many partial results are combined at a time. Default 8.
        chunk_kwargs, aggregate_kwargs, combine_kwargs, kwargs
            Options for the functions; `kwargs` for all of them.

        Examples
        --------
        >>> import pandas as pd
        >>> import glassloom.dataframe as gd
        >>> x = gd.from_pandas(pd.Series([1, 2, 3]), npartitions=2)
        >>> int(x.reduction(lambda block: block.max(), lambda found: found.max()).compute())
        3
        """
        combine = None if combine is False else combine
        for name, function in (("chunk", chunk), ("aggregate", aggregate), ("combine", combine)):
            require_function("reduction", name, function)
        chunk_kwargs = options_of("reduction", "chunk_kwargs", chunk_kwargs)
        aggregate_kwargs = options_of("reduction", "aggregate_kwargs", aggregate_kwargs)
        combine_kwargs = options_of("reduction", "combine_kwargs", combine_kwargs)
        last = aggregate or chunk
        finish = partial(_joined, last, {**kwargs, **aggregate_kwargs})
        inner = {**kwargs, **(combine_kwargs if combine else aggregate_kwargs)}
        middle = partial(_joined, combine or last, inner)
        first = partial(_chunked, chunk, {**kwargs, **chunk_kwargs})
        if meta is None:
            users = [chunk, aggregate, combine]
            found = of_samples_at_hand(lambda some: finish([first(some)]), self._meta, who="reduction", users=users)
        else:
            found = meta if pd.api.types.is_scalar(meta) and not isinstance(meta, str) else parse_meta(meta)
        title = token or function_label(chunk)
        return wrap(tree(self._expr, Operation(first, middle, finish), empty(found), title, split_every=split_every))

    def resample(
        self,
        rule: Any,
        closed: str | None = None,
        label: str | None = None,
        convention: Any = "start",
        on: Any = None,
        level: Any = None,
        origin: Any = "start_day",
        offset: Any = None,
        group_keys: Any = False,
    ) -> Resampler:
        """Group the rows into bins of times, durations or periods, to be aggregated, or looked up at the bins' edges (`ffill`, `asfreq`, `interpolate`...).

        If the divisions aren't known, the labels are read now to find them out, as `sort_index` does.

        Parameters
        ----------
        rule
            The length of a bin, such as ``"1h"`` or ``"ME"``. Bins that don't divide a day are counted from the first row,
            which is computed now.
        closed, label
            Which end of a bin belongs to it, and which names it: as pandas.
        origin, offset
            Where bins are counted from.
        on
            Of frames: the column of times or durations, instead of the index. It becomes the index, see `set_index`.
        convention
            Of periods: whether rows are at the start or at the end of theirs, where bins are shorter.
        level, group_keys
            Not supported.

        Returns
        -------
        Resampler
            Results have known divisions, but those of `apply`.

        Examples
        --------
        >>> import glassloom.dataframe as gd
        >>> frame = gd.datasets.timeseries(end="2000-01-03", freq="1h")
        >>> frame.x.resample("12h").count().compute().tolist()
        [12, 12, 12, 12]
        """
        require_usual(
            [
                ("level", level, "divisions are of one level"),
                ("group_keys", group_keys or None, "results have no keys"),
            ]
        )
        options = {"closed": closed, "label": label, "origin": origin, "offset": offset}
        if convention != "start":
            options["convention"] = convention
        rows = self if on is None else _by_time(self, on)
        return resample(rows, rule, options, is_of_column=on is not None)


def _by_time(frame: Any, on: Any) -> Any:
    """Return a frame with a column of times as index, without the rows that have no time."""
    if not isinstance(frame.expr.meta, pd.DataFrame):
        raise ValueError(f"resample(on={on!r}) is of frames: a series is resampled by its index")
    require_columns([on], frame)
    dtype = frame.expr.meta[on].dtype
    if getattr(dtype, "kind", "O") not in "Mm":
        raise TypeError(f"resample(on={on!r}) needs times or durations, not {dtype}; to_datetime() makes times")
    return frame[frame[on].notna()].set_index(on)


def _same(block: Any) -> Any:
    return block


def _of_dtype(values: Callable[[Any], Any], dtype: Any, block: Any) -> Any:
    """Return the array that a function makes of a partition.

    Raises
    ------
    ValueError
        If missing values make another dtype of it than that of the whole.
    """
    made = values(block)
    if made.dtype != dtype:
        raise ValueError(f"values: missing ones make {made.dtype} of {dtype}; fillna() or astype('float64') before")
    return made


def _values(block: Any) -> Any:
    return np.asarray(block.to_numpy())


def _records(options: dict[str, Any], block: Any) -> Any:
    return np.asarray(block.to_records(**options))


def _nbytes(block: Any) -> int:
    return int(block.nbytes) if not isinstance(block, pd.DataFrame) else int(block.memory_usage(index=False).sum())


def _bytes_of(block: Any, index: bool, deep: bool) -> int:
    used = block.memory_usage(index=index, deep=deep)
    return int(used.sum()) if isinstance(block, pd.DataFrame) else int(used)


def _chunked(chunk: Callable[..., Any], kwargs: dict[str, Any], block: Any) -> Any:
    made = call_users_function(chunk, guarded(block), **kwargs)
    require_at_hand_values(made, "reduction", chunk)
    return made


def _joined(function: Callable[..., Any], kwargs: dict[str, Any], parts: list[Any]) -> Any:
    first = parts[0]
    if isinstance(first, pd.Series):
        return function(pd.concat([part.to_frame().T for part in parts]).infer_objects(), **kwargs)
    return function(pd.concat(parts) if is_frame(first) else pd.Series(parts), **kwargs)


class FrameMeasuring(Measuring):
    """Methods of frames."""

    def memory_usage(self, index: bool = True, deep: bool = False) -> Any:
        """Return the bytes of each column, and of the index, lazily."""
        meta = sample(self._meta).memory_usage(index=index, deep=deep)
        chunk = partial(_memory_usage, index, deep)
        return wrap(tree(self._expr, Operation(chunk, _added, _added), meta, "memory-usage"))

    def to_records(
        self, index: bool = True, column_dtypes: Any = None, index_dtypes: Any = None, *, lengths: Any = None
    ) -> Any:
        """Return the rows as a lazy array of records, a block for each partition.

        Parameters
        ----------
        index
            Whether the labels are a field of the records.
        column_dtypes, index_dtypes
            As in `pandas.DataFrame.to_records`.
        lengths
            As in `to_array`.

        Examples
        --------
        >>> import glassloom.dataframe as gd
        >>> gd.from_dict({"n": [1, 2]}, npartitions=1).to_records(index=False).compute().tolist()
        [(1,), (2,)]
        """
        options = {"index": index, "column_dtypes": column_dtypes, "index_dtypes": index_dtypes}
        return self._as_array(partial(_records, options), lengths)

    def info(self, verbose: bool | None = None, buf: Any = None, max_cols: int | None = None,
             memory_usage: bool | str | None = False, show_counts: bool | None = False) -> None:  # fmt: skip
        """Write the columns and dtypes. Counts and memory are computed only if asked for.

        Parameters
        ----------
        verbose
            Whether to list the columns. Default: up to `max_cols` or 100 of them.
        buf
            Where to write to. Default: standard output.
        max_cols
            Up to how many columns are listed.
        memory_usage
            Whether to compute the bytes; ``"deep"`` looks into objects.
        show_counts
            Whether to compute the numbers of values.
        """
        self._write_info(type(self), verbose, buf, max_cols, memory_usage, show_counts)

    def _write_info(self, kind: type, verbose: bool | None, buf: Any, max_cols: int | None,
                    memory_usage: bool | str | None, show_counts: bool | None) -> None:  # fmt: skip
        names = list(self._meta.columns)
        partitions = f"{self.npartitions} partition{'s' if self.npartitions > 1 else ''}"
        lines = [f"<class '{kind.__module__}.{kind.__qualname__}'>", partitions]
        counts = self.count().compute() if show_counts else None
        if verbose or (verbose is None and len(names) <= (max_cols or 100)):
            lines += _listed(names, self._meta.dtypes, counts)
        else:
            lines.append(f"Columns: {len(names)} entries, {names[0]} to {names[-1]}")
        kinds = self._meta.dtypes.value_counts()
        lines.append("dtypes: " + ", ".join(f"{kind}({count})" for kind, count in kinds.items()))
        if memory_usage:
            used = self.memory_usage(deep=memory_usage == "deep").compute().sum()
            lines.append(f"memory usage: {used} bytes")
        print_to = buf if buf is not None else sys.stdout
        print_to.write("\n".join(lines) + "\n")


def _listed(names: Sequence[Any], dtypes: Any, counts: Any) -> list[str]:
    table = pd.DataFrame({"Column": list(map(str, names)), "Dtype": [str(dtype) for dtype in dtypes]})
    if counts is not None:
        table.insert(1, "Non-Null Count", list(counts))
    text = io.StringIO()
    table.to_string(text)
    return text.getvalue().splitlines()


def _memory_usage(index: bool, deep: bool, block: Any) -> Any:
    return block.memory_usage(index=index, deep=deep)


def _added(parts: list[Any]) -> Any:
    return parts[0] if len(parts) == 1 else pd.concat(parts, axis=1).sum(axis=1).set_axis(parts[0].index)


class SeriesMeasuring(Measuring):
    """Methods of series."""

    def memory_usage(self, index: bool = True, deep: bool = False) -> Any:
        """Return the bytes of the values, and of the index, lazily."""
        chunk = partial(_memory_usage, index, deep)
        return wrap(tree(self._expr, Operation(chunk, sum, sum), 0, "memory-usage"))

    def info(self, verbose: bool | None = None, buf: Any = None, max_cols: int | None = None,
             memory_usage: bool | str | None = False, show_counts: bool = False) -> None:  # fmt: skip
        """Write name and dtype. See `DataFrame.info`."""
        self.to_frame()._write_info(type(self), verbose, buf, max_cols, memory_usage, show_counts)
