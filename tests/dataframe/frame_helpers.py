"""What the frame tests share: the comparison with pandas, random frames, and plans made readable."""

from __future__ import annotations

import warnings

import glassloom
import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE
from glassloom.expr import simplify, walk
from hypothesis import strategies as st
from long_tests import LONG_TESTS

WITHOUT_KEYS = {} if HAS_COPY_ON_WRITE else {"include_groups": False}
"""With which `apply` of groups gives functions no keys among the columns, as pandas 3 and ours do in any case."""


def assert_same(got, expected, *, check_dtype=True, check_freq=False):
    """Check that a concrete result is what pandas makes, index, names, dtypes and all."""
    if isinstance(expected, pd.DataFrame):
        pd.testing.assert_frame_equal(
            got,
            expected,
            check_dtype=check_dtype,
            check_freq=check_freq,
            rtol=1e-9,
            check_index_type="equiv" if len(expected) else False,
        )
    elif isinstance(expected, pd.Series):
        pd.testing.assert_series_equal(
            got,
            expected,
            check_dtype=check_dtype,
            check_freq=check_freq,
            rtol=1e-9,
            check_index_type="equiv" if len(expected) else False,
        )
    elif isinstance(expected, pd.Index):
        pd.testing.assert_index_equal(got, expected)
    elif pd.api.types.is_scalar(expected) and pd.isna(expected):
        assert pd.isna(got)
    elif isinstance(expected, float):
        # As pandas compares the values of frames: a covariance of millions may be 0 but for rounding.
        assert got == pytest.approx(expected, rel=1e-9, abs=1e-8)
    else:
        assert got == expected


def by_keys(result):
    """Return rows in the order of their labels, missing ones last. (Before pandas 3 `sort_index` can't sort such text.)"""
    keys = result.index.to_frame(index=False, name=range(result.index.nlevels))
    return result.iloc[keys.sort_values(list(keys.columns), kind="stable").index]


def check_all(operations, frame, lazy, *, check_dtype=None):
    """Check that each operation of a dict by name makes of a lazy frame what it makes of pandas'; also what it raises."""
    strict = len(frame) > 1 if check_dtype is None else check_dtype
    for name, operation in operations.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                _check_one(operation, frame, lazy, strict)
            except (Exception, pytest.fail.Exception) as error:
                error.add_note(f"in the operation {name!r}, of {len(frame)} rows in {lazy.npartitions} partitions")
                raise


def _check_one(operation, frame, lazy, check_dtype):
    try:
        expected = operation(frame)
    except (TypeError, ValueError, KeyError) as error:
        with pytest.raises(type(error)):
            operation(lazy).compute(scheduler="inline")
        return
    assert_same(operation(lazy).compute(scheduler="inline"), expected, check_dtype=check_dtype)


def partitionings(frame):
    """Return a frame cut in several ways: one partition, known divisions if it is sorted, and unknown ones with empty partitions."""
    cuts = [0, 0, len(frame) // 3, len(frame) // 3, max(len(frame) - 1, 0), len(frame)]
    pieces = [frame.iloc[start:end] for start, end in zip(cuts, cuts[1:], strict=False)]
    ragged = gd.from_map(pieces.__getitem__, range(len(pieces)), meta=frame.iloc[:0])
    if isinstance(frame.index, pd.MultiIndex) or not frame.index.is_monotonic_increasing:
        return [gd.from_pandas(frame, npartitions=1, sort=False), ragged]
    return [gd.from_pandas(frame, npartitions=1), gd.from_pandas(frame, npartitions=4), ragged]


def check_in_parts(frame, operation, **options):
    """Check that an operation makes of a frame in several partitionings what it makes of pandas'; also what it raises.

    One partition is tried in `make long` alone: mark tests that call this `more`.
    """
    lazies = partitionings(frame)[0 if LONG_TESTS else 1 :]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            expected = operation(frame)
        except (TypeError, ValueError, KeyError) as error:
            for lazy in lazies:
                with pytest.raises(type(error)):
                    operation(lazy).compute(scheduler="inline")
            return
        for lazy in lazies:
            assert_same(operation(lazy).compute(scheduler="inline"), expected, **options)


def blocks_of(lazy):
    """Return what each partition holds. All are computed at once: what they have in common is made once."""
    return glassloom.compute(*(lazy.partitions[number] for number in range(lazy.npartitions)), scheduler="inline")


def plan(*collections, keeps_blocks=True):
    """Return the simplified nodes of collections; without `keeps_blocks` those of concrete values."""
    return walk(simplify([collection.expr for collection in collections], keeps_blocks=keeps_blocks))


def labels(*collections, **options):
    """Return the labels of the simplified nodes, sources first."""
    return [node.label for node in plan(*collections, **options)]


def reads(*collections, **options):
    """Return the simplified nodes that read."""
    return [node for node in plan(*collections, **options) if type(node).__name__ == "Read"]


@st.composite
def frames(draw, min_rows=0, max_rows=24, with_missing=True):
    """Draw a pandas frame with columns of many dtypes, missing values and an index with or without order.

    Hypothesis draws the size, the kind of index and a seed: drawing each value takes ten times as long.
    """
    count = draw(st.integers(min_rows, max_rows))
    random = np.random.default_rng(draw(st.integers(0, 1000)))

    def column(values, missing=None):
        choice = [*values, missing] if with_missing and missing is not None else list(values)
        return [choice[place] for place in random.integers(0, len(choice), count)]

    none = float("nan")
    times = [pd.Timestamp("2020-01-01"), pd.Timestamp("2020-06-01 12:00"), pd.Timestamp("1999-12-31")]
    frame = pd.DataFrame(
        {
            "i": pd.array(column(range(-3, 4)), dtype="int64"),
            "f": pd.array(column([0.0, -1.5, 2.25, 1e6, 3.0], none), dtype="float64"),
            "s": pd.Series(column(["ant", "bee", "cat", "dog", ""], none), dtype=pd.Series(["a"]).dtype),
            "b": pd.array(column([True, False]), dtype="bool"),
            "c": pd.Categorical(column(["u", "v", "w"], none), categories=["w", "v", "u", "unused"]),
            "d": pd.Series(column(times, pd.NaT), dtype="datetime64[ns]"),
            "n": pd.array(column([1, 2, 3], pd.NA), dtype="Int64"),
        }
    )
    kind = draw(st.sampled_from(["range", "sorted", "unsorted", "named"]))
    if kind in ("sorted", "unsorted"):
        labels = random.integers(0, 9, count)
        frame.index = pd.Index(np.sort(labels) if kind == "sorted" else labels, dtype="int64")
    elif kind == "named":
        frame.index = pd.RangeIndex(count, name="row")
    return frame


@st.composite
def cut_frames(draw, **options):
    """Draw a pandas frame (sorted by index) and a lazy one of the same rows, cut at random, also into empty partitions."""
    frame = draw(frames(**options)).sort_index(kind="stable")
    how = draw(st.sampled_from(["npartitions", "chunksize", "ragged"]))
    if how == "npartitions":
        return frame, gd.from_pandas(frame, npartitions=draw(st.integers(1, 7)))
    if how == "chunksize":
        return frame, gd.from_pandas(frame, chunksize=draw(st.integers(1, 10)), sort=False)
    cuts = sorted(draw(st.lists(st.integers(0, len(frame)), max_size=5)))
    bounds = [0, *cuts, len(frame)]
    pieces = [frame.iloc[start:end] for start, end in zip(bounds, bounds[1:], strict=False)]
    return frame, gd.from_map(pieces.__getitem__, range(len(pieces)), meta=frame)


def shop(rows, seed):
    """Return made-up sales with brands and categories that may be missing, some of them rare."""
    random = np.random.default_rng(seed)
    brands = np.array([f"brand{number}" for number in range(60)] + [None] * 3, dtype=object)
    kinds = np.array([f"kind{number}" for number in range(8)] + [None], dtype=object)
    return pd.DataFrame(
        {
            "brand": brands[np.minimum(random.zipf(1.3, rows) - 1, len(brands) - 1)],
            "cat_2": kinds[random.integers(0, len(kinds), rows)],
            "price": random.gamma(2, 50, rows),
            "target": random.integers(0, 2, rows),
        }
    )


def target_encoded(train, valid):
    """Return W4's encoded rows: the same code, with setters, on pandas and on lazy frames."""
    encoded = []
    for rows in (train, valid):
        rows["cat_2_brand"] = rows.cat_2.astype(object) + "_" + rows.brand.astype(object)
    stats = train.groupby("cat_2_brand").target.agg(["count", "mean"])
    overall = train.target.mean()
    for rows in (train, valid):
        joined = rows.merge(stats.reset_index(), on="cat_2_brand", how="left")
        joined["te"] = joined["mean"].where(joined["count"] > 20, overall)
        encoded.append(joined[["cat_2_brand", "count", "te"]])
    return encoded
