"""Columns of Arrow's types that NumPy has none of: decimals, dates, times of day, bytes, lists, structs, dictionaries."""

from __future__ import annotations

import datetime
from decimal import Decimal

import glassloom.dataframe as gd
import pandas as pd
import pyarrow as pa
import pytest
from frame_helpers import assert_same
from glassloom.backends.arrow_samples import samples_of_type
from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE

INLINE = {"scheduler": "inline"}
VALUES = {
    "decimals": pa.array([Decimal("1.50"), None, Decimal("3.25"), Decimal("2.00")], pa.decimal128(7, 2)),
    "times of day": pa.array([datetime.time(1), None, datetime.time(3), datetime.time(2)]),
    "bytes": pa.array([b"a", None, b"c", b"b"]),
    "lists": pa.array([[1, 2], None, [3], []]),
    "structs": pa.array([{"a": 1}, None, {"a": 3}, {"a": 2}]),
    "dictionaries": pa.array(["a", None, "c", "b"]).dictionary_encode(),
}
CALLS = {
    "a value": lambda s: s.iloc[2],
    "rows": lambda s: s.loc[[2, 3]],
    "count": lambda s: s.count(),
    "shift": lambda s: s.shift(),
    "filled": lambda s: s.ffill(),
    "a function": lambda s: s.map(lambda value: value),
    "texts": lambda s: s.astype(str),
    "rows of a condition": lambda s: s[s.notna()],
}


@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("call", CALLS)
def test_columns_of_arrows_types_are_computed_with(values, call):
    series = pd.Series(pd.arrays.ArrowExtensionArray(VALUES[values]))
    lazy = CALLS[call](gd.from_pandas(series, npartitions=3))
    try:
        expected = CALLS[call](series)
    except ValueError as error:
        if HAS_COPY_ON_WRITE:
            raise
        pytest.skip(f"this pandas raises {error!r}")  # pandas 2.3 of texts of lists
    found = lazy.compute(**INLINE)
    if isinstance(expected, pd.Series):
        assert_same(found, expected)
        assert lazy.dtype == expected.dtype
    else:
        assert found == expected


@pytest.mark.parametrize("method", ["min", "max", "sum", "mean", "nunique", "median"])
def test_decimals_are_reduced_as_in_pandas(method):
    series = pd.Series(pd.arrays.ArrowExtensionArray(VALUES["decimals"]))
    found, expected = (
        getattr(gd.from_pandas(series, npartitions=3), method)().compute(**INLINE),
        getattr(series, method)(),
    )
    assert (
        found.equals(expected)
        if isinstance(expected, pd.Series)
        else (found, type(found)) == (expected, type(expected))
    )


MEANS = {
    "of a frame": lambda f: f[["x"]].mean(),
    "of columns": lambda f: f[["x", "y"]].mean(),
    "of no rows": lambda f: f.x[f.x > 9].mean(),
    "with missing ones": lambda f: f[["x"]].mean(skipna=False),
    "of groups": lambda f: f.groupby("k").x.mean(),
    "the largest of a frame": lambda f: f[["x"]].max(),
}


@pytest.mark.parametrize("call", MEANS)
def test_means_of_decimals_have_their_digits(call):
    values = [Decimal("1.25"), Decimal("-1.10"), None, Decimal("1.00"), Decimal("2.25")]
    frame = pd.DataFrame(
        {"x": pd.array(values, dtype=pd.ArrowDtype(pa.decimal128(7, 2))), "y": 1.5, "k": [1, 1, 1, 2, 2]}
    )
    found, expected = MEANS[call](gd.from_pandas(frame, npartitions=3)).compute(**INLINE), MEANS[call](frame)
    if isinstance(expected, pd.Series):
        assert_same(found, expected)
    else:
        assert found is expected is pd.NA


def test_products_of_decimals_are_refused():
    lazy = gd.from_pandas(pd.Series(pd.arrays.ArrowExtensionArray(VALUES["decimals"])), npartitions=2)
    with pytest.raises(NotImplementedError, match=r"prod of a column of dtype decimal128.*astype\('float64'\) before"):
        lazy.prod().compute(**INLINE)
    with pytest.raises(NotImplementedError, match=r"groupby\.prod of a column of dtype decimal128"):
        lazy.to_frame("x").groupby("x").x.prod()


def test_dates_are_told_apart():
    values = pd.Series([datetime.date(2000, 1, day) for day in (1, 2, 1, 3, 2)], dtype=pd.ArrowDtype(pa.date32()))
    lazy = gd.from_pandas(values, npartitions=3)
    assert_same(lazy.duplicated().compute(**INLINE), values.duplicated())
    assert_same(lazy.drop_duplicates().compute(**INLINE), values.drop_duplicates())


@pytest.mark.parametrize(
    "kind",
    [
        pa.decimal128(2, 2),
        pa.decimal256(40, -2),
        pa.time64("ns"),
        pa.binary(3),
        pa.list_(pa.date32()),
        pa.list_(pa.float32(), 2),
        pa.large_list(pa.timestamp("ns", "UTC")),
        pa.struct([("a", pa.bool_()), ("b", pa.list_(pa.string()))]),
        pa.map_(pa.string(), pa.int64()),
        pa.dictionary(pa.int32(), pa.string()),
        pa.list_(pa.month_day_nano_interval()),
        pa.null(),
    ],
    ids=str,
)
def test_two_values_of_a_type_are_made_up(kind):
    made = samples_of_type(kind)
    assert made.type == kind
    assert len(made) == 2


@pytest.mark.parametrize("kind", [pa.timestamp("us"), pa.timestamp("ms", "Europe/Paris"), pa.duration("us")], ids=str)
@pytest.mark.parametrize("method", ["mean", "std", "describe"])
def test_times_of_arrow_have_means_and_deviations(kind, method):
    values = pa.array([1_000_003, None, -5, 77], pa.int64()).cast(kind)
    frame = pd.DataFrame({"x": pd.arrays.ArrowExtensionArray(values), "y": 1.5})
    lazy = gd.from_pandas(frame, npartitions=3)
    for choose in (lambda f: f, lambda f: f[["x"]]):
        assert_same(getattr(choose(lazy), method)().compute(**INLINE), getattr(choose(frame), method)())
    if method != "describe":
        assert getattr(lazy.x, method)().compute(**INLINE) == getattr(frame.x, method)()


DAYS = [datetime.date(2020, 1, day) for day in (3, 1, 2, 9)]
TIMES_OF_DAY = [datetime.time(hour, 30) for hour in (3, 1, 2, 9)]


@pytest.mark.parametrize(
    ("values", "kind"),
    [(DAYS, pa.date32()), (DAYS, pa.date64()), (TIMES_OF_DAY, pa.time32("s")), (TIMES_OF_DAY, pa.time64("ns"))],
    ids=str,
)
@pytest.mark.parametrize("rows", [[0, 1, 2, 3], [0, None, 1, 2], [None, None, None, 0], [None] * 4], ids=str)
def test_dates_and_times_of_day_have_medians_and_quantiles(values, kind, rows):
    chosen = [None if place is None else values[place] for place in rows]
    if not HAS_COPY_ON_WRITE and not any(chosen):
        pytest.skip("pandas 2 makes floats of missing medians of a frame")
    frame = pd.DataFrame({"d": pd.array(chosen, dtype=pd.ArrowDtype(kind))})
    lazy = gd.from_pandas(frame, npartitions=3)
    for ask in (
        lambda f: f.d.median(),
        lambda f: f.median(),
        lambda f: f.d.quantile([0, 0.3, 0.5, 1]),
        lambda f: f.quantile(0.4, interpolation="lower"),
    ):
        assert_same(ask(lazy).compute(scheduler="inline"), ask(frame))
