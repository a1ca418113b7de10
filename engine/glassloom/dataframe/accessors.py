"""`series.str`, `series.dt` and `series.cat`: whatever pandas' accessors offer, partition by partition."""

from __future__ import annotations

import inspect
import re
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from glassloom.backends.pandas_ import is_frame
from glassloom.backends.pandas_version import PANDAS_VERSION
from glassloom.collection import compute
from glassloom.dataframe.ambiguous_times import by_rows_beside
from glassloom.dataframe.arrow.text import of_distinct_texts
from glassloom.dataframe.arrow.text_parts import Parts, groups_of, parts_of
from glassloom.dataframe.call import Attribute, Method
from glassloom.dataframe.column_at_hand import beside_values_at_hand, is_column, with_column_at_hand
from glassloom.dataframe.distinct_times import DatesAttribute, TimesMethod
from glassloom.dataframe.method_names import methods_named
from glassloom.dataframe.moving.numbering import renumber
from glassloom.dataframe.nodes import BlockOp, Rowwise
from glassloom.dataframe.options import refused
from glassloom.dataframe.reduce import Operation, tree
from glassloom.dataframe.wrap import is_node, operate, wrap

_NOT_ROW_BY_ROW = {
    "dt.freq": "it is inferred from all values; pandas.infer_freq(series.head(...)) looks at the first ones",
}
if PANDAS_VERSION < (3, 1):
    _NOT_ROW_BY_ROW["dt.to_pydatetime"] = (
        "before version 3.1 pandas leaves labels out; compute() the series first, or use astype(object)"
    )
_FACTS = frozenset(["tz", "unit", "categories", "ordered"])
"""Attributes that follow from the dtype."""


_IN_THREE = ("partition", "rpartition")
"""Methods of text that make three columns, of which pandas has fewer where there is no text."""


_SLOW = frozenset(
    ["capitalize", "casefold", "center", "contains", "count", "decode", "encode", "extract", "find", "findall", "fullmatch", "index",
     "ljust", "match", "normalize", "pad", "partition", "removeprefix", "removesuffix", "repeat", "replace", "rfind", "rindex", "rjust",
     "rpartition", "rsplit", "slice_replace", "split", "swapcase", "title", "wrap", "zfill"]
)  # fmt: skip
"""Methods of text that take so long for each one that distinct ones are looked for before."""
_PLAIN = frozenset([str, int, float, bool, type(None), re.Pattern])


class TextMethod(Method):
    """A method of ``.str``, which pandas has of objects only where it finds a text among them: here a partition may lack one."""

    __slots__ = ()

    def __init__(self, *path: str) -> None:
        super().__init__("str", *path)

    def __reduce__(self) -> tuple[Any, ...]:
        return (TextMethod, self.path[1:])

    def __call__(self, obj: Any, *args: Any, **kwargs: Any) -> Any:
        if self.path[-1] in _SLOW and all(type(one) in _PLAIN for one in (*args, *kwargs.values())):
            found = of_distinct_texts(obj, partial(self._of_each, args, kwargs))
            if found is not None:
                return found
        return self._of_each(args, kwargs, obj)

    def _of_each(self, args: tuple[Any, ...], kwargs: dict[str, Any], obj: Any) -> Any:
        if kwargs.get("na") is pd.NA and pd.api.types.is_object_dtype(obj) and not obj.isna().any():
            kwargs = {
                name: value for name, value in kwargs.items() if name != "na"
            }  # pandas would take it for a boolean
        if _fails_without_rows(obj):
            obj = pd.Series(pd.array([], dtype=obj.dtype), index=obj.index, name=obj.name)
        if self.path[-1] == "extract" and (extracted := _extracted(obj, *args, **kwargs)) is not None:
            return extracted
        if _may_be_text(obj) or not isinstance(obj, pd.Series) or not len(obj):
            made = _with_index_of(super().__call__(obj, *args, **kwargs), obj)
            is_narrow = self.path[-1] in _IN_THREE and isinstance(made, pd.DataFrame) and made.shape[1] < 3
            if not is_narrow and not _is_of_missing_objects(made, obj):
                return made
        else:
            obj = obj.astype(object)
        text = pd.Series(["a"], index=obj.index[:1] if len(obj) else None, name=obj.name, dtype=obj.dtype)
        return _with_index_of(super().__call__(pd.concat([obj, text]), *args, **kwargs).iloc[:-1], obj)


def _extracted(obj: Any, pat: Any, flags: Any = 0, expand: bool = True) -> Any:
    """Return what pandas' ``extract`` does, found by Arrow; None where that may not be the same."""
    columns = groups_of(obj, pat, flags) if len(obj) else None
    if columns is None:
        return None
    made = obj.iloc[:1].str.extract(pat, flags=flags, expand=expand)
    if isinstance(made, pd.Series):
        return pd.Series(columns[0], index=obj.index, name=made.name, copy=False)
    frame = pd.DataFrame(dict(enumerate(columns)), index=obj.index, copy=False)
    return frame.set_axis(made.columns, axis=1)


def _fails_without_rows(obj: Any) -> bool:
    """Whether methods of Arrow's texts may be an error because there is no piece of an array at all: before pandas 3.1."""
    is_arrow = isinstance(obj, pd.Series) and isinstance(obj.dtype, pd.ArrowDtype)
    return PANDAS_VERSION < (3, 1) and is_arrow and obj.array._pa_array.num_chunks == 0


def _may_be_text(obj: Any) -> bool:
    """Whether pandas has methods of text for a series or index."""
    try:
        _ = obj.str
    except AttributeError:
        return False
    return True


def _is_of_missing_objects(made: Any, obj: Any) -> bool:
    """Whether a result is of objects only because those that it is made of are all missing: beside texts it could be of numbers."""
    has_objects = all(isinstance(one, pd.Series) and one.dtype == object for one in (made, obj))
    return has_objects and bool(len(obj)) and bool(obj.iloc[:1].isna().all()) and bool(obj.isna().all())


def _with_index_of(made: Any, obj: Any) -> Any:
    """Return a result of no rows with the index of the series: pandas' extract() leaves it out there."""
    is_lost = isinstance(obj, pd.Series) and is_frame(made) and made.index.nlevels == 1
    return made.set_axis(obj.index, axis=0) if is_lost and not len(obj) else made


class MatchesOfRows(BlockOp):
    """A row for each match in a text: how many isn't known."""


class Accessor:
    """The methods and properties of a pandas accessor, each a lazy operation on the series."""

    __iter__ = None  # by positions it would never end

    def __init__(self, series: Any, name: str) -> None:
        getattr(series.expr.meta, name)  # raises as pandas does if the dtype has no such accessor
        self._series = series
        self._name = name

    def __dir__(self) -> list[str]:
        return [name for name in dir(getattr(self._series.expr.meta, self._name)) if not name.startswith("_")]

    def __getitem__(self, key: Any) -> Any:
        return operate(self._method("__getitem__"), self._series, key, label="getitem")

    def _method(self, attribute: str) -> Method:
        if (self._name, attribute) == ("dt", "strftime"):
            return TimesMethod(attribute)
        return TextMethod(attribute) if self._name == "str" else Method(self._name, attribute)

    def __getattr__(self, attribute: str) -> Any:
        accessor = getattr(self._series.expr.meta, self._name)
        if attribute.startswith("_") or not hasattr(type(accessor), attribute) and not hasattr(accessor, attribute):
            raise AttributeError(f"pandas' .{self._name} has no attribute {attribute!r}")
        why = _NOT_ROW_BY_ROW.get(f"{self._name}.{attribute}")
        if why is not None:
            raise NotImplementedError(f".{self._name}.{attribute}: {why}")
        if attribute in _FACTS:
            return getattr(accessor, attribute)
        if not callable(getattr(accessor, attribute)):
            is_date = (self._name, attribute) == ("dt", "date")
            return operate(DatesAttribute() if is_date else Attribute(self._name, attribute), self._series)

        def method(*args: Any, **kwargs: Any) -> Any:
            if self._name == "dt" and (made := by_rows_beside(self._series, attribute, args, kwargs)) is not None:
                return made
            kind = MatchesOfRows if attribute == "extractall" else Rowwise
            return self._of_rows(
                attribute, operate(self._method(attribute), self._series, *args, kind=kind, kwargs=kwargs)
            )

        method.__name__ = attribute
        method.__qualname__ = f"{self._name}.{attribute}"
        method.__doc__ = getattr(type(accessor), attribute).__doc__
        method.__signature__ = inspect.signature(getattr(accessor, attribute))  # type: ignore[attr-defined]
        return method

    def _of_rows(self, attribute: str, made: Any) -> Any:
        """Return a result that has rows.

        Raises
        ------
        NotImplementedError
            If it is an array: arrays of partitions can't be told apart from values.
        """
        if not made.expr.has_rows:
            raise NotImplementedError(
                f".{self._name}.{attribute} makes an array of all rows; compute() the series first, or use map_partitions"
            )
        return made


@methods_named("Series.str")
class Texts(Accessor):
    """``series.str``."""

    def __init__(self, series: Any) -> None:
        super().__init__(series, "str")

    def cat(self, others: Any = None, sep: str | None = None, na_rep: str | None = None, join: str = "left") -> Any:
        """Return the texts of each row joined with those of other lazy series or frames of the same rows, or all as one text.

        Parameters
        ----------
        others
            A lazy series, index or frame, or values at hand: a list or array of a text for each row, or a pandas series, by label; or a list of
            those. Without it all texts are joined, as a lazy scalar.
        sep
            What goes between the texts.
        na_rep
            What stands for missing texts. Default: the result is missing.
        join
            Only ``"left"``: the rows are those of this series. Of operands of the same rows all ways are the same.
        """
        if others is None:
            steps = Operation(
                partial(_texts, sep or "", na_rep), partial(_joined_texts, sep or ""), partial(_text_of, sep or "")
            )
            return wrap(tree(self._series.expr, steps, "", "cat"))
        if isinstance(others, str):
            raise ValueError(f"str.cat({others!r}): Did you mean to supply a `sep` keyword?")
        is_list = isinstance(others, (list, tuple)) and (
            not others or any(is_node(one) or is_column(one) for one in others)
        )
        if is_list and any(isinstance(one, (list, tuple)) for one in others):
            raise TypeError(
                "str.cat: others must be lazy series, indexes or frames, arrays, pandas series, or a list of those or of texts, not of lists"
            )
        if isinstance(others, np.ndarray) and others.ndim == 2:
            others, is_list = list(others.T), True
        many = [self._of_rows_here(one) for one in (others if is_list else [others])]
        if join != "left" and not all(one.expr.rows == self._series.expr.rows for one in many):
            raise refused("str.cat", "join", join, "leave it out, or align() the series before")
        return operate(_cat, self._series, *many, kwargs={"sep": sep, "na_rep": na_rep}, label="cat")

    def _of_rows_here(self, one: Any) -> Any:
        """Return what texts are joined with as a lazy object."""
        if is_node(one):
            return one
        values = list(one) if isinstance(one, tuple) else one
        if isinstance(values, (pd.DataFrame, np.ndarray)) and np.ndim(values) > 1:
            raise refused("str.cat", "others", one, "give its columns as a list")
        if not is_column(values):
            raise TypeError(
                f"str.cat(others={one!r}): give lazy series or frames, or lists, arrays and pandas series of texts"
            )
        base = operate(_without_values, self._series, label="labels")
        return wrap(with_column_at_hand(base, "texts", values))["texts"]

    def split(self, pat: Any = None, *, n: int = -1, expand: bool = False, regex: bool | None = None) -> Any:
        """Return the parts between separators, as lists, or with `expand` as columns. See `rsplit`."""
        return self._split("split", n, expand, {"pat": pat, "regex": regex})

    def rsplit(self, pat: Any = None, *, n: int = -1, expand: bool = False) -> Any:
        """Return the parts between separators, as lists; with `expand` as columns.

        With `expand` and `n` there are always ``n + 1`` columns, also where no row has so many parts; without `n` how many there will be
        is found out now.
        """
        return self._split("rsplit", n, expand, {"pat": pat})

    def _split(self, method: str, n: int, expand: bool, options: dict[str, Any]) -> Any:
        if not isinstance(expand, (bool, np.bool_)):
            raise ValueError(f"str.{method}(expand={expand!r}): expand must be True or False")
        if not expand:
            return operate(TextMethod(method), self._series, kwargs={**options, "n": n})
        if n is None or n < 1:
            most = tree(
                self._series.expr, Operation(partial(_count_parts, method, options), max, max), 0, "count-parts"
            )
            width, n = int(wrap(most).compute()), -1
        else:
            width = n + 1
        return operate(_split_into, self._series, method, width, n, kwargs=options, label=method)

    def repeat(self, repeats: Any) -> Any:
        """Return each text several times in a row: a number of times, or a list or array of numbers, one for each row."""
        if not isinstance(repeats, (list, tuple, np.ndarray, pd.Series, pd.Index, pd.api.extensions.ExtensionArray)):
            return operate(TextMethod("repeat"), self._series, repeats, label="repeat")
        return wrap(beside_values_at_hand(self._series, _repeated, np.asarray(repeats), "repeat"))

    def get_dummies(self, sep: str = "|", dtype: Any = None) -> Any:
        """Return a column for each part between separators that a text has, with 1 where a row has it. Which parts there are is found out now.

        Of categories, as in pandas, a missing one is a text, too.

        Parameters
        ----------
        sep
            The separator.
        dtype
            The dtype of the columns. Default: pandas' whole numbers.
        """
        series = self._series
        if isinstance(series.dtype, pd.CategoricalDtype):
            series = operate(_texts_of_categories, series, label="texts")
        options: dict[str, Any] = {"sep": sep, **({} if dtype is None else {"dtype": dtype})}
        steps = Operation(partial(_parts, options), _all_parts, _all_parts)
        parts, rows = compute(wrap(tree(series.expr, steps, 0, "get-dummies")), series.index.size)
        texts = [sep.join(sorted(parts))] if parts else [None][:rows]
        like = pd.Series(texts, dtype=series.dtype).str.get_dummies(**options)[:0]
        made = operate(_dummies, series, like, options, label="get-dummies")
        keeps_labels = pd.Series(["a"], index=[5]).str.get_dummies(**options).index[0] == 5  # not with nullable dtypes
        return made if keeps_labels else wrap(renumber(made.expr))


def _repeated(block: Any, repeats: Any) -> Any:
    has_texts = _may_be_text(block) and bool(block.notna().any())
    return TextMethod("repeat")(block, list(repeats) if has_texts else 1)


def _count_parts(method: str, options: dict[str, Any], block: Any) -> int:
    """Return how many columns the parts of texts take: none if there are no rows."""
    known = block.dropna()
    parts = _parts_by_arrow(known, method, -1, options)
    if parts is not None:
        return int(parts.counts().max())
    return int(TextMethod(method)(known, expand=True, **options).shape[1]) if len(known) else min(len(block), 1)


def _parts_by_arrow(block: Any, method: str, n: int, options: dict[str, Any]) -> Parts | None:
    return parts_of(block, options["pat"], n, options.get("regex"), from_end=method == "rsplit")


def _texts_of_categories(block: Any) -> Any:
    """Return categories as texts, missing ones as the text of which pandas makes a column of dummies."""
    missing = pd.Series(pd.Categorical([None], ["a"])).str.get_dummies().columns[0]
    return block.astype(object).where(block.notna(), missing)


def _parts(options: dict[str, Any], block: Any) -> frozenset[str]:
    known = block.dropna()
    return frozenset(known.str.get_dummies(**options).columns) if len(known) else frozenset()


def _all_parts(parts: list[frozenset[str]]) -> frozenset[str]:
    return frozenset().union(*parts)


def _dummies(block: Any, like: Any, options: dict[str, Any]) -> Any:
    """Return the columns of a partition, which may lack some: those of all partitions are given."""
    is_known = block.notna().to_numpy()
    known = block[is_known]
    found = (
        known.str.get_dummies(**options).set_axis(known.index, axis=0)
        if len(known)
        else like.set_axis(known.index, axis=0)
    )
    found = found.reindex(columns=like.columns, fill_value=0)
    without = pd.DataFrame(0, index=block.index[~is_known], columns=like.columns)
    places = np.argsort(np.concatenate([np.flatnonzero(is_known), np.flatnonzero(~is_known)]))
    return pd.concat([one.astype(like.dtypes) for one in (found, without)]).iloc[places]


def _texts(sep: str, na_rep: str | None, block: Any) -> str | None:
    """Return the texts of a partition as one; None if it has none, which differs from an empty one."""
    known = block.dropna() if na_rep is None else block
    return known.str.cat(sep=sep, na_rep=na_rep) if len(known) else None


def _joined_texts(sep: str, parts: list[Any]) -> str | None:
    known = [part for part in parts if part is not None]
    return sep.join(known) if known else None


def _text_of(sep: str, parts: list[Any]) -> str:
    return _joined_texts(sep, parts) or ""


def _cat(block: Any, *others: Any, sep: str | None, na_rep: str | None) -> Any:
    columns = [
        column
        for one in others
        for column in (
            [one.iloc[:, place] for place in range(one.shape[1])] if isinstance(one, pd.DataFrame) else [one]
        )
    ]
    return block.str.cat(columns, sep=sep, na_rep=na_rep, join="left")


def _without_values(block: Any) -> Any:
    return pd.DataFrame(index=block.index)


def _split_into(block: Any, method: str, width: int, n: int, **options: Any) -> Any:
    """Return the parts as `width` columns."""
    if not width:  # there are no rows
        return pd.DataFrame(index=block.index)
    parts = _parts_by_arrow(block, method, n, options)
    if parts is not None:
        columns = {place: parts.column(place) for place in range(width)}
        return pd.DataFrame(columns, index=block.index, columns=pd.RangeIndex(width), copy=False)
    has_none = isinstance(block.dtype, pd.ArrowDtype) and bool(block.isna().all())  # of which pandas 2 makes no columns
    made = pd.DataFrame(index=block.index) if has_none else getattr(block.str, method)(n=n, expand=True, **options)
    if made.shape[1] == width:
        return made
    made = made if len(made) else pd.DataFrame(index=block.index)
    absent = block.where(block.isna(), None).astype(
        block.dtype
    )  # no part: None among objects; a missing text stays missing
    return pd.concat([made, *(absent.rename(place) for place in range(made.shape[1], width))], axis=1)


@methods_named("Series.cat")
class Categories(Accessor):
    """``series.cat``. Categories that were made partition by partition are unknown until all values have been read: what needs them does so at once."""

    @property
    def known(self) -> bool:
        """Whether the categories are known without computing."""
        return len(self._series.expr.meta.cat.categories) > 0

    def as_known(self, *, split_every: int | None = None) -> Any:
        """Return the series with its categories known, sorted as pandas has them. Computes the distinct values, now."""
        if self.known:
            return self._series
        return self._with_present(split_every)

    def as_unknown(self) -> Any:
        """Return the series without known categories."""
        series = self._series
        meta = series.expr.meta.cat.set_categories([])
        return series.map_partitions(_same, meta=meta, keep_divisions=True)

    def remove_unused_categories(self) -> Any:
        """Return the series with only the categories that occur. Computes the distinct values, now."""
        if not self.known:
            return self._with_present()
        present = set(self._series.dropna().unique().compute())
        categories = self._series.expr.meta.cat.categories
        return self.set_categories(categories[[one in present for one in categories]])

    def _with_present(self, split_every: int | None = None) -> Any:
        values = self._series.dropna().unique(split_every=split_every).compute()
        plain = values.astype(values.cat.categories.dtype)
        return operate(Method("cat", "set_categories"), self._series, plain.astype("category").cat.categories)

    def __getattr__(self, attribute: str) -> Any:
        if not attribute.startswith("_") and not self.known and attribute in _NEED_CATEGORIES:
            return Categories(self.as_known(), "cat")._of_known(attribute)  # there may be none
        return self._of_known(attribute)

    def _of_known(self, attribute: str) -> Any:
        if attribute in ("categories", "ordered"):
            return getattr(self._series.expr.meta.cat, attribute)
        meta = self._series.expr.meta
        if attribute == "codes" and meta.cat.codes.dtype != _dtype_of_codes(meta.dtype):
            return operate(_codes, self._series, label="codes")
        return super().__getattr__(attribute)


def _dtype_of_codes(dtype: pd.CategoricalDtype) -> Any:
    return pd.Categorical.from_codes([], dtype=dtype).codes.dtype


def _codes(block: Any) -> Any:
    """Return the codes of a partition, of no rows too: of those pandas keeps the dtype of codes when categories are set."""
    return block.cat.codes.astype(_dtype_of_codes(block.dtype))


_NEED_CATEGORIES = frozenset(
    ["categories", "codes", "ordered", "add_categories", "reorder_categories", "rename_categories", "remove_categories"]
)


def _same(block: Any) -> Any:
    return block
