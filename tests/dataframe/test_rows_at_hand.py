"""Lazy objects whose divisions aren't known beside pandas ones of the same or other labels."""

from __future__ import annotations

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same
from glassloom.errors import DivisionError

INLINE = {"scheduler": "inline"}
FRAME = pd.DataFrame(
    {"i": [1, 2, 3, 4, 5], "f": [0.5, np.nan, 2, np.nan, 3], "s": ["x", None, "y", "z", None]},
    index=pd.Index([7, 3, 9, 5, 1], name="n"),
)
OTHERS = {
    "the same labels": FRAME[["f", "s"]].fillna({"f": -1.0, "s": "w"}),
    "other labels too": pd.DataFrame({"f": [8.0, 9, 10], "new": [1, 2, 3]}, index=pd.Index([5, 3, 40], name="n")),
    "other labels alone": pd.DataFrame({"f": [8.0, 9]}, index=pd.Index([40, 2], name="n")),
    "the labels in another order": FRAME[["f"]].fillna(7)[::-1],
}


def updated(one, other, **options):
    made = one.copy()
    made.update(other, **options)
    return made


METHODS = {
    "update": updated,
    "update what is missing": lambda one, other: updated(one, other, overwrite=False),
    "update a series": lambda one, other: updated(one.f, other.f),
    "combine_first": lambda one, other: one.combine_first(other),
    "combine_first of series": lambda one, other: one.f.combine_first(other.f),
    "add": lambda one, other: one[["i", "f"]] + other[["f"]],
    "add filled": lambda one, other: one.i.add(other.f, fill_value=0),
}


def in_pieces(plain, cuts=(0, 2, 2, 4)):
    bounds = [*cuts, len(plain)]
    pieces = [plain.iloc[start:end] for start, end in zip(bounds, bounds[1:], strict=False)]
    return gd.from_map(pieces.__getitem__, range(len(pieces)), meta=plain.iloc[:0])


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("name", METHODS)
def test_pandas_objects_are_aligned_by_label_without_known_divisions(name, other):
    for plain in (FRAME, FRAME.sort_index()):
        expected = METHODS[name](plain, OTHERS[other])
        assert_same(METHODS[name](in_pieces(plain), OTHERS[other]).compute(**INLINE), expected)


def test_lazy_objects_of_one_partition_update_those_of_several():
    other = OTHERS["other labels too"]
    lazy = in_pieces(FRAME)
    lazy.update(gd.from_pandas(other, npartitions=1, sort=False))
    assert_same(lazy.compute(**INLINE), updated(FRAME, other))


def test_labels_that_the_pandas_object_repeats_are_refused_unless_all_labels_are_the_same():
    plain = FRAME.set_axis([1, 1, 2, 2, 1], axis=0)
    assert_same((in_pieces(plain).f + plain.i).compute(**INLINE), plain.f + plain.i)
    with pytest.raises(DivisionError, match="add: the operands are cut differently"):
        in_pieces(plain).f + plain.i[::-1]
    lazy = in_pieces(plain)
    lazy.update(plain[["i"]][::-1])
    with pytest.raises(ValueError, match="duplicate"):
        lazy.compute(**INLINE)


def test_repeated_labels_that_are_not_in_order_are_refused():
    """pandas pairs each row of a label with all others of it then, and by place if both are in the same order."""
    plain = pd.DataFrame({"a": [1, 2, 3]}, index=[1, 2, 2])
    other = pd.DataFrame({"a": [10, 20, 30]}, index=[2, 1, 2])
    assert_same((gd.from_pandas(plain, npartitions=1) + other).compute(), plain + other)
    with pytest.raises(DivisionError, match=r"repeat, and aren't in order.*sort_index\(\)"):
        gd.from_pandas(plain, npartitions=2) + other


STATISTICS = {
    "corr": lambda f, other: f.i.corr(other.f),
    "spearman": lambda f, other: f.i.corr(other.f, method="spearman"),
    "kendall": lambda f, other: f.i.corr(other.f, method="kendall"),
    "cov": lambda f, other: f.i.cov(other.f, ddof=0),
    "corrwith a frame": lambda f, other: f[["i", "f"]].corrwith(other[["f"]], drop=True),
    "corrwith a series": lambda f, other: f[["i", "f"]].corrwith(other.f),
}


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("statistic", STATISTICS.values(), ids=STATISTICS)
def test_statistics_take_pandas_objects_by_label(statistic, known):
    lazy = gd.from_pandas(FRAME, npartitions=3, sort=known)
    for name in ("the same labels", "other labels too", "the labels in another order"):
        expected, got = statistic(FRAME, OTHERS[name]), statistic(lazy, OTHERS[name]).compute(**INLINE)
        if isinstance(expected, pd.Series):
            assert_same(got, expected)
        else:
            assert got == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize("known", [True, False])
def test_dot_takes_pandas_objects_of_the_same_labels_and_arrays(known):
    lazy = gd.from_pandas(FRAME, npartitions=3, sort=known)
    other = FRAME[["i"]].assign(j=2.5)[::-1]
    assert lazy.i.dot(other.j).compute(**INLINE) == FRAME.i.dot(other.j)
    assert_same((lazy.i @ other).compute(**INLINE), FRAME.i @ other)
    in_order = FRAME.sort_index() if known else FRAME
    assert lazy.i.dot(np.arange(5)).compute(**INLINE) == in_order.i.dot(np.arange(5))
    with pytest.raises(ValueError, match="matrices are not aligned"):
        lazy.i.dot(other.j[1:]).compute(**INLINE)


@pytest.mark.parametrize("dtype", ["float64", "Float64", "double[pyarrow]"])
def test_correlations_of_nullable_columns_are_nullable(dtype):
    plain = FRAME[["i", "f"]].astype(dtype)
    other = plain[["i"]].assign(new=plain.i)
    got = gd.from_pandas(plain, npartitions=3).corrwith(other)
    assert_same(got.compute(**INLINE), plain.corrwith(other))
