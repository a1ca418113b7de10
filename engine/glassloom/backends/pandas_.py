"""pandas as a backend: joining blocks, made-up samples, and sizes; `pandas_tokens.py` has the tokens. Loaded only once a pandas object turns up."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from glassloom.backends import pandas_tokens as _pandas_tokens  # noqa: F401 - registers them
from glassloom.backends.arrow_samples import samples_of_type
from glassloom.backends.frames import DEVICE_BACKENDS, kind_on_device, library_of
from glassloom.backends.label_tables import with_own_labels
from glassloom.backends.made_up_categories import MADE_UP
from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE, LOOKS_UP_SAFELY
from glassloom.backends.sharing import register_read_only_view
from glassloom.backends.sizeof import register_sizeof, sizeof
from glassloom.errors import MetaError

_SAMPLED_VALUES = 100


def is_frame(value: Any) -> bool:
    """Whether `value` is a frame, series or index: something with rows."""
    return isinstance(value, (pd.DataFrame, pd.Series, pd.Index)) or kind_on_device(value) != "scalar"


def rows_between(value: Any, start: int | None, stop: int | None) -> Any:
    """Return the rows between two positions. (Before pandas 3, ``value[1:4]`` means labels if they are floats.)"""
    return value[start:stop] if isinstance(value, pd.Index) else value.iloc[start:stop]


def array_of(values: Any) -> Any:
    """Return the array of a series or index. (Before pandas 3, `groupby` warns of `NumpyExtensionArray`, which holds what NumPy has.)"""
    array = values.array
    return array if HAS_COPY_ON_WRITE or type(array) is not pd.arrays.NumpyExtensionArray else array.to_numpy()


# Blocks.


def concat(blocks: Sequence[Any]) -> Any:
    """Return the blocks as one object, first to last. Empty blocks don't decide on dtypes unless all are empty."""
    filled = [block for block in blocks if len(block)] or list(blocks[:1])
    first = filled[0]
    if len(filled) == 1:
        return first
    library = library_of(first)
    if library != "pandas":
        return DEVICE_BACKENDS[library].concat(filled)
    if isinstance(first, pd.Index):
        filled = _indexes_with_equal_categories(filled)
        return _as_objects(_joined(lambda many: many[0].append(many[1:]), filled), filled)
    if isinstance(first, pd.Series) and _is_missing(first.name):  # such names aren't equal, pandas thinks
        return concat([block.rename(None) for block in filled]).rename(first.name)
    made = _joined(pd.concat, _with_equal_labels(_with_equal_categories(filled)))
    labels = _as_objects(made.index, [block.index for block in filled])
    return made if labels is made.index else made.set_axis(labels, axis=0)


def _joined(function: Callable[[list[Any]], Any], blocks: list[Any]) -> Any:
    """Return blocks joined by a function; without the frequencies of labels if pandas fails to go on by one to a time that occurs twice in a time zone."""
    try:
        return function(blocks)
    except ValueError:
        first = blocks[0] if isinstance(blocks[0], pd.Index) else blocks[0].index
        if not isinstance(first, pd.DatetimeIndex) or first.tz is None or first.freq is None:
            raise
    plain: list[Any] = [(block if isinstance(block, pd.Index) else block.index).copy() for block in blocks]
    for index in plain:
        index.freq = None
    pairs = zip(blocks, plain, strict=True)
    return function([index if isinstance(block, pd.Index) else block.set_axis(index, axis=0) for block, index in pairs])


def concat_arrays(blocks: Sequence[Any]) -> Any:
    """Return arrays of one axis as one: NumPy's, or pandas' of one dtype."""
    if isinstance(blocks[0], pd.api.extensions.ExtensionArray):
        return type(blocks[0])._concat_same_type(blocks)  # type: ignore[attr-defined]
    return np.concatenate(blocks)


def _is_missing(name: Any) -> bool:
    return name is pd.NA or (type(name) is not str and bool(name != name))


def _as_objects(joined: Any, indexes: list[Any]) -> Any:
    """Return joined labels as the objects that they were, if all are: pandas makes text or numbers of them where it can."""
    if joined.dtype == object or any(index.dtype != object or index.nlevels > 1 for index in indexes):
        return joined
    return pd.Index(np.concatenate([index.to_numpy() for index in indexes]), dtype=object, name=joined.name)


def _with_equal_categories(blocks: list[Any]) -> list[Any]:
    """Return the blocks with equal categories, so that joining them keeps categorical columns categorical."""
    if isinstance(blocks[0], pd.Series):
        if not _differ([block.dtype for block in blocks]):
            return blocks
        kind = union_categories([block.dtype for block in blocks])
        return [block.astype(kind) for block in blocks]
    if not blocks[0].columns.is_unique:
        return _with_equal_categories_by_place(blocks)
    wanted = {}
    for name, dtype in zip(blocks[0].columns, blocks[0].dtypes, strict=True):
        if isinstance(dtype, pd.CategoricalDtype):
            dtypes = [block[name].dtype for block in blocks if name in block.columns]
            if _differ(dtypes):
                wanted[name] = union_categories(dtypes)
    return [block.astype(wanted) for block in blocks] if wanted else blocks


def _with_equal_categories_by_place(blocks: list[Any]) -> list[Any]:
    """Return blocks of the same columns, some of them of one name, with equal categories."""
    if any(not block.columns.equals(blocks[0].columns) for block in blocks):
        return blocks
    made = [block.copy(deep=False) for block in blocks]
    for place in range(len(blocks[0].columns)):
        dtypes = [block.dtypes.iloc[place] for block in blocks]
        if _differ(dtypes):
            kind = union_categories(dtypes)
            for block in made:
                block.isetitem(place, block.iloc[:, place].astype(kind))
    return made


def columns_of(frame: Any, columns: Any) -> Any:
    """Return ``frame[columns]``; a list has labels. Texts are looked up here, which takes a quarter of pandas' time, and booleans, which it takes for a mask."""
    if type(columns) is not list or type(frame) is not pd.DataFrame:
        return frame[columns]
    places = places_of(frame.columns, columns)
    if places is None and all([isinstance(name, (bool, np.bool_)) for name in columns]):
        places = frame.columns.get_indexer_for(pd.Index(columns, dtype=object)).tolist()
        if -1 in places:
            raise KeyError(f"{[name for name in columns if name not in frame.columns]} not in index")
    if places is None and (frame.columns.dtype == object or frame.columns.hasnans):
        places = _places_one_by_one(frame.columns, columns)
    return frame[columns] if places is None else frame.take(places, axis=1)


def places_of(labels: pd.Index, names: Sequence[Any]) -> list[int] | None:
    """Return where names are among distinct labels of columns; None if not all of them are texts that are there once."""
    places = {name: place for place, name in enumerate(labels) if type(name) is str}
    if not all([type(name) is str and name in places for name in names]) or not labels.is_unique:
        return None
    return [places[name] for name in names]


def _places_one_by_one(labels: pd.Index, names: Sequence[Any]) -> list[int] | None:
    """Return where names are among distinct labels; None if not all of them are there once. Of a list of some pandas makes other labels: NaN of None among texts."""
    if not labels.is_unique:
        return None
    try:
        places = [labels.get_loc(name) for name in names]
    except (KeyError, TypeError, ValueError, pd.errors.InvalidIndexError):
        return None
    single = [place for place in places if isinstance(place, int)]
    return single if len(single) == len(places) else None


def _with_equal_labels(blocks: list[Any]) -> list[Any]:
    """Return the blocks with equal categories in their indexes, so that these stay categorical."""
    pairs = list(zip(blocks, _indexes_with_equal_categories([block.index for block in blocks]), strict=True))
    return [block if index is block.index else block.set_axis(index, axis=0) for block, index in pairs]


def _indexes_with_equal_categories(indexes: list[Any]) -> list[Any]:
    if len({index.nlevels for index in indexes}) > 1:
        return indexes
    for number in range(indexes[0].nlevels):
        dtypes = [_level(index, number).dtype for index in indexes]
        if _differ(dtypes):
            kind = union_categories(dtypes)
            indexes = [_with_level(index, number, kind) for index in indexes]
    return indexes


def _level(index: Any, number: int) -> Any:
    return index.levels[number] if isinstance(index, pd.MultiIndex) else index


def _with_level(index: Any, number: int, dtype: Any) -> Any:
    if isinstance(index, pd.MultiIndex):
        levels: list[Any] = [
            level.astype(dtype) if place == number else level for place, level in enumerate(index.levels)
        ]
        return index.set_levels(levels, verify_integrity=False)
    return index.astype(dtype)


def _differ(dtypes: list[Any]) -> bool:
    return all(isinstance(dtype, pd.CategoricalDtype) for dtype in dtypes) and any(
        dtype != dtypes[0] for dtype in dtypes
    )


def union_categories(dtypes: Sequence[Any]) -> pd.CategoricalDtype:
    """Return the categorical dtype with the categories of all `dtypes`: sorted if those of each are, as ``astype("category")``
    makes them, else in order of appearance.

    Raises
    ------
    MetaError
        If categories are ordered, and some aren't in the order of the dtype that has most of them.
    """
    if any(dtype.ordered for dtype in dtypes):
        return _union_ordered(dtypes)
    filled = [dtype for dtype in dtypes if len(dtype.categories)] or dtypes[:1]  # of none, the dtype means nothing
    if any(
        dtype.categories.dtype != filled[0].categories.dtype for dtype in filled
    ):  # texts in one, numbers in another
        several = [dtype.categories.astype(object) for dtype in filled]
        joined = pd.Index(several[0].append(several[1:]).unique(), dtype=object)
    else:
        empties = [pd.Categorical([], dtype=dtype) for dtype in filled]
        joined = pd.api.types.union_categoricals(empties, ignore_order=True).categories
    are_sorted = all(_is_sorted(dtype.categories) for dtype in filled)
    return pd.CategoricalDtype(_sorted(joined) if are_sorted else joined)


def _is_sorted(categories: pd.Index) -> bool:
    return categories.equals(_sorted(categories)) if categories.dtype == object else categories.is_monotonic_increasing


def _sorted(categories: pd.Index) -> pd.Index:
    """Return categories in the order that ``astype("category")`` gives them: of objects, numbers come before texts."""
    if categories.dtype != object:
        return categories.sort_values()
    try:
        return pd.Index(pd.factorize(categories, sort=True)[1], dtype=object)
    except TypeError:  # they can't be compared
        return categories


def _union_ordered(dtypes: Sequence[Any]) -> pd.CategoricalDtype:
    whole = max(dtypes, key=lambda dtype: len(dtype.categories))
    for dtype in dtypes:
        places = whole.categories.get_indexer(dtype.categories)
        is_empty = not len(dtype.categories)
        if not is_empty and (not dtype.ordered or (places < 0).any() or (places[1:] < places[:-1]).any()):
            raise MetaError(
                f"partitions have ordered categories that can't be joined: {_listed(whole)} and {_listed(dtype)}. Give all "
                "the same ones, for instance with astype(pandas.CategoricalDtype([...], ordered=True)) in each"
            )
    return pd.CategoricalDtype(whole.categories, ordered=True)


def _listed(dtype: pd.CategoricalDtype) -> str:
    shown = [str(one) for one in dtype.categories[:8]] + ["..."] * (len(dtype.categories) > 8)
    return (" < " if dtype.ordered else ", ").join(shown) + ("" if dtype.ordered else " (not ordered)")


def guarded(block: Any) -> Any:
    """Return a block that a user's function may change without changing the original."""
    if isinstance(block, (pd.DataFrame, pd.Series)):
        return block.copy(deep=not HAS_COPY_ON_WRITE)
    if kind_on_device(block) in ("frame", "series"):
        return block.copy()
    return block


# Made-up samples: two rows of the right dtypes, to find out what a function returns.


_Kinds = tuple[tuple[Any, Any], tuple[Any, Any]]
_LETTERS, _WORDS, _NUMBERS = ("a", "b"), ("first made-up text", "second made-up text"), (1, 2)


def of_samples(function: Callable[..., Any], *metas: Any) -> Any:
    """Return what a function makes of made-up rows. Texts are letters, or if it refuses those some words; Python objects too, or numbers.

    An error that it raises has a note that says of which rows.
    """
    try:
        return function(*map(sample, metas))
    except Exception as error:  # the function may be a user's
        if _OF_SAMPLES not in getattr(error, "__notes__", ()):
            error.add_note(_OF_SAMPLES)
        others: list[_Kinds] = [(_WORDS, _WORDS)] if any(map(_has_texts, metas)) else []
        others += [(texts, _NUMBERS) for texts in (_LETTERS, _WORDS)] if any(map(_has_objects, metas)) else []
        for texts, objects in others:
            with contextlib.suppress(Exception):
                return function(*[sample(meta, texts, objects) for meta in metas])
        raise


_OF_SAMPLES = (
    "This came of two made-up rows of the columns' dtypes, on which the operation was tried to find out what it returns: values that "
    "are named are theirs."
)


def _has_objects(meta: Any) -> bool:
    return any(map(pd.api.types.is_object_dtype, _dtypes(meta)))


def _has_texts(meta: Any) -> bool:
    return any(map(pd.api.types.is_string_dtype, _dtypes(meta)))


def _dtypes(meta: Any) -> list[Any]:
    if isinstance(meta, pd.DataFrame):
        return list(meta.dtypes)
    return [meta.dtype] if isinstance(meta, (pd.Series, pd.Index)) else []


def sample(meta: Any, texts: tuple[Any, Any] = _LETTERS, objects: tuple[Any, Any] = _LETTERS) -> Any:
    """Return an object like `meta` with two made-up rows, with these values of columns of text and of Python objects."""
    kinds = (texts, objects)
    if isinstance(meta, pd.MultiIndex):
        return pd.MultiIndex.from_arrays([sample(level) for level in meta.levels], names=meta.names)
    if isinstance(meta, pd.Index):
        if isinstance(meta, pd.RangeIndex):
            return pd.RangeIndex(2, name=meta.name)
        return pd.Index(_sample_values(meta.dtype, kinds), dtype=_own_dtype(meta.dtype), name=meta.name)
    if isinstance(meta, pd.Series):
        return _sample_series(meta.dtype, sample(meta.index), kinds).rename(meta.name)
    if isinstance(meta, pd.DataFrame):
        index = sample(meta.index)
        columns = {place: _sample_series(dtype, index, kinds) for place, dtype in enumerate(meta.dtypes)}
        made = pd.DataFrame(columns, index=index)
        made.columns = meta.columns
        return made
    return meta


def _sample_series(dtype: Any, index: Any, kinds: _Kinds) -> Any:
    return pd.Series(_sample_values(dtype, kinds), index=index, dtype=_own_dtype(dtype))


def _own_dtype(dtype: Any) -> Any:
    """Return the dtype to ask for: pandas 3 makes text of objects unless it is told."""
    return object if pd.api.types.is_object_dtype(dtype) else None


def _sample_values(dtype: Any, kinds: _Kinds) -> Any:
    texts, objects = kinds
    if isinstance(dtype, pd.CategoricalDtype):
        categories = dtype.categories if len(dtype.categories) else MADE_UP
        some = list(categories[:2])
        return pd.Categorical((some * 2)[:2], categories=categories, ordered=dtype.ordered)
    kind = getattr(dtype, "kind", "O")
    if kind == "b":
        return pd.array([True, False], dtype=dtype)
    if kind in "iufc":
        return pd.array([1, 2], dtype=dtype)
    if kind in "mM":
        start = pd.Timestamp("2000-01-01", tz=getattr(dtype, "tz", None)) if kind == "M" else pd.Timedelta("1D")
        return pd.array([start, start + pd.Timedelta("1D")], dtype=dtype)
    if isinstance(dtype, pd.PeriodDtype):
        return pd.period_range("2000", periods=2, freq=dtype.freq).array
    if isinstance(dtype, pd.IntervalDtype):
        return pd.interval_range(0, 2).astype(dtype).array
    if kind == "O" and isinstance(dtype, np.dtype):
        return np.array(objects, dtype=object)
    if isinstance(dtype, pd.ArrowDtype) and (made := samples_of_type(dtype.pyarrow_dtype)) is not None:
        return pd.arrays.ArrowExtensionArray(made)
    return pd.array(list(texts), dtype=dtype)


# Sizes.


@register_sizeof(pd.DataFrame)
def _sizeof_frame(frame: pd.DataFrame) -> int:
    return sizeof(frame.index) + sum(map(_array_nbytes, arrays_of(frame))) + 500


@register_sizeof(pd.Series)
def _sizeof_series(series: pd.Series) -> int:
    return sizeof(series.index) + sum(map(_array_nbytes, arrays_of(series))) + 300


@register_sizeof(pd.RangeIndex)
def _sizeof_range(index: pd.RangeIndex) -> int:
    return 150


@register_sizeof(pd.MultiIndex)
def _sizeof_levels(index: pd.MultiIndex) -> int:
    return sum(sizeof(level) for level in index.levels) + sum(codes.nbytes for codes in index.codes) + 300


@register_sizeof(pd.Index)
def _sizeof_index(index: pd.Index) -> int:
    return _values_nbytes(index) + 200


def _values_nbytes(values: pd.Index) -> int:
    own = int(values.memory_usage(deep=False))
    return own + _objects_nbytes(values.to_numpy()) if values.dtype == object else own


def _array_nbytes(values: Any) -> int:
    """Return the bytes of an array; Python objects are sampled."""
    own = int(values.nbytes)
    return own + _objects_nbytes(values) if values.dtype == object else own


def _objects_nbytes(values: Any) -> int:
    """Return about how many bytes the objects hold to which an array refers."""
    if not values.size:
        return 0
    values = np.asarray(values, dtype=object)
    some = values.flat[:: max(1, values.size // _SAMPLED_VALUES)]
    return sum(map(sizeof, some)) * values.size // len(some)


def arrays_of(value: Any) -> list[Any]:
    """Return the arrays that hold a frame's or series' values, as few as there are."""
    manager = getattr(value, "_mgr", None)  # by pandas' public names each column takes 50 microseconds
    if manager is not None:
        return list(manager.arrays)
    return (
        [value.array]
        if isinstance(value, pd.Series)
        else [value.iloc[:, place].array for place in range(value.shape[1])]
    )


# Which objects refer to the same memory, as pandas notes it to copy what is written to.


def without_values(value: pd.DataFrame | pd.Series) -> Any:
    """Return an object without rows of which pandas notes that it shares the memory of all columns of another, but doesn't keep that."""
    made = value.iloc[:0]
    for block in made._mgr.blocks:
        block.values = _apart(block.values)
    return made


def with_own_memory(value: Any) -> Any:
    """Return a copy of an object without rows whose columns lie together as they did, as pandas makes one of some rows."""
    manager = value._mgr.apply("copy", deep=True)
    for block in manager.blocks:
        block.values = _apart(block.values)
    return value._constructor_from_mgr(manager, axes=manager.axes)


def _apart(values: Any) -> Any:
    """Return the values of a block without rows, each of whose columns has a place in memory."""
    if isinstance(values, np.ndarray):
        return np.zeros((*values.shape[:-1], 1), values.dtype)[..., :0]
    if hasattr(values, "_from_backing_data"):
        return values._from_backing_data(_apart(values._ndarray))
    return type(values)._from_sequence([], dtype=values.dtype)


def block_numbers(frame: pd.DataFrame) -> list[int]:
    """Return for each column the number of the block of memory that it is in, beside others of its dtype."""
    return list(frame._mgr.blknos.tolist())


def refers_to(series: pd.Series, column: pd.Series) -> bool:
    """Whether a series shares the memory of another, as pandas finds it out for groups."""
    return bool(series._mgr.references_same_values(column._mgr, 0))


def are_in_one_place(one: pd.Series, other: pd.Series) -> bool:
    """Whether of two series without rows that share memory both are the same column of it."""
    values, others = (getattr(series.array, "_ndarray", None) for series in (one, other))
    return values is None or others is None or values.__array_interface__["data"] == others.__array_interface__["data"]


# Sharing.


def _share_frame(value: Any) -> Any:
    return value.copy(deep=False)


if LOOKS_UP_SAFELY:
    register_read_only_view(pd.DataFrame)(_share_frame)
    register_read_only_view(pd.Series)(_share_frame)
else:
    for _kind in (pd.DataFrame, pd.Series, pd.Index):
        register_read_only_view(_kind)(with_own_labels)


def own(value: Any) -> Any:
    """Return a frame or series as its user's own: it can be written to, and nothing that others hold changes with it.

    Copied is what lies in memory that can't be written to, as results do that a worker has shared.
    """
    if getattr(value, "_mgr", None) is None:  # pandas' public names give read-only views in any case
        return value
    return value.copy(deep=not HAS_COPY_ON_WRITE or not all(map(_is_writable, arrays_of(value))))


def _is_writable(values: Any) -> bool:
    parts = [values, *(getattr(values, name, None) for name in ("_ndarray", "_data", "_mask"))]
    return all(part.flags.writeable for part in parts if isinstance(part, np.ndarray))
