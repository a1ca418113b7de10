"""Kinds of elements and shapes that are easy to forget: other byte orders, dates, records, objects, masks, nothing at all."""

import glassloom.array as ga
import numpy as np
import pytest
from array_strategies import chunks_of, equal
from hypothesis import given
from hypothesis import strategies as st

ORDERS = (">f8", ">i4", "<f4", ">c16", ">u2")


@st.composite
def kinds(draw, dtypes=ORDERS, least_axes=0):
    """A NumPy array of some type, and the same as a lazy one."""
    shape = draw(st.lists(st.integers(0, 5), min_size=least_axes, max_size=2).map(tuple))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    array = rng.integers(0, 9, size=shape).astype(draw(st.sampled_from(dtypes)))
    return np.asarray(array), ga.from_array(np.asarray(array), chunks=draw(chunks_of(shape)))


@given(kinds(least_axes=1))  # NumPy's scalars are in the machine's order always
def test_byte_orders_are_kept_where_numpy_keeps_them(pair):
    array, lazy = pair
    equal(lazy, array)
    equal(lazy.T, array.T)
    equal(lazy[::2], array[::2])
    equal(lazy.rechunk(2), array)
    assert lazy.astype("f4").compute().dtype == np.float32
    equal(lazy + 1, array + 1)
    equal(lazy.sum(), array.sum())
    equal(ga.concatenate([lazy, lazy]), np.concatenate([array, array]))
    if array.shape[0]:
        equal(lazy.mean(0), array.mean(0))
    if array.dtype.kind != "c":
        equal(ga.sort(lazy.ravel()), np.sort(array.ravel()))


@given(kinds(("M8[D]", "m8[s]", "M8[ns]")))
def test_dates_and_spans(pair):
    array, lazy = pair
    equal(lazy, array)
    equal(lazy - lazy, array - array)
    equal(lazy + np.timedelta64(3, "h"), array + np.timedelta64(3, "h"))
    equal(lazy == array, array == array)
    equal(lazy.ravel(), array.ravel())
    equal(ga.isnat(lazy), np.isnat(array))
    if array.size:
        equal(lazy.max(), array.max())
        equal(lazy.min(0) if array.ndim else lazy.min(), array.min(0) if array.ndim else array.min())
        equal(ga.sort(lazy.ravel()), np.sort(array.ravel()))
        equal(ga.unique(lazy).compute_chunk_sizes(), np.unique(array))
        equal(lazy.argmax() if array.ndim else lazy.ravel().argmax(), array.argmax())


def test_dates_in_order_and_spans_of_them():
    days = np.array(["2000-01-01", "2000-01-05", "NaT", "2000-01-02"], dtype="M8[D]")
    lazy = ga.from_array(days, chunks=3)
    equal(ga.diff(lazy), np.diff(days))
    equal(lazy.astype("M8[h]"), days.astype("M8[h]"))
    equal(ga.searchsorted(ga.sort(lazy[:2]), days[3:]), [1])
    equal(
        ga.where(ga.isnat(lazy), np.datetime64("1999-01-01"), lazy),
        np.where(np.isnat(days), np.datetime64("1999-01-01"), days),
    )


RECORD = np.dtype([("name", "U3"), ("place", "f4", (2,)), ("age", ">i2")])


def test_records_are_cut_joined_and_read_by_field():
    records = np.zeros((4, 2), RECORD)
    records["age"] = np.arange(8).reshape(4, 2)
    records["name"][1] = "abc"
    lazy = ga.from_array(records, chunks=(3, 1))
    assert lazy.dtype == RECORD
    np.testing.assert_array_equal(lazy.compute(), records)
    np.testing.assert_array_equal((lazy["age"] + 1).compute(), records["age"] + 1)
    np.testing.assert_array_equal(lazy["name"].T.compute(), records["name"].T)
    np.testing.assert_array_equal(lazy[["name", "age"]].compute(), records[["name", "age"]])
    np.testing.assert_array_equal(lazy[1:, ::-1].compute(), records[1:, ::-1])
    np.testing.assert_array_equal(lazy[lazy["age"] > 5].compute(), records[records["age"] > 5])
    np.testing.assert_array_equal(ga.concatenate([lazy, lazy]).compute(), np.concatenate([records, records]))
    assert ga.zeros(3, dtype=RECORD, chunks=2).compute().dtype == RECORD
    assert ga.zeros_like(lazy).compute()["age"].sum() == 0


def test_text_and_objects():
    words = np.array([["b", "a"], ["ccc", "a"]])
    lazy = ga.from_array(words, chunks=1)
    equal(ga.sort(lazy.ravel()), np.sort(words.ravel()))
    equal(lazy == "a", words == "a")
    equal(ga.unique(lazy).compute_chunk_sizes(), np.unique(words))
    things = np.array([1, "x", None], dtype=object)
    assert ga.from_array(things, chunks=2).compute().tolist() == things.tolist()
    assert (ga.from_array(np.array([1, 2.5, 3], dtype=object), chunks=2) * 2).sum().compute() == 13


@given(st.lists(st.sampled_from([0, 1, 3]), min_size=1, max_size=3).map(tuple), st.data())
def test_nothing_at_all(shape, data):
    array = np.zeros((*shape, 0))
    lazy = ga.from_array(array, chunks=data.draw(chunks_of(array.shape)))
    for function in (lambda x, m: x + 1, lambda x, m: x.sum(), lambda x, m: x.T, lambda x, m: x.ravel(), lambda x, m: x[..., None],
                     lambda x, m: m.concatenate([x, x], -1), lambda x, m: m.cumsum(x, 0), lambda x, m: m.flip(x),
                     lambda x, m: x.prod(-1), lambda x, m: m.sort(x), lambda x, m: m.where(x > 0, x, 1),
                     lambda x, m: m.pad(x, 1), lambda x, m: m.repeat(x, 2, -1), lambda x, m: m.stack([x, x]),
                     lambda x, m: m.tile(x, 2), lambda x, m: m.argsort(x), lambda x, m: x.any(0), lambda x, m: m.nansum(x),
                     lambda x, m: m.roll(x, 1), lambda x, m: m.diff(x, axis=0) if x.shape[0] else x,
                     lambda x, m: m.tensordot(x, x, 1) if x.ndim == 1 else m.swapaxes(x, 0, -1)):  # fmt: skip
        equal(function(lazy, ga), function(array, np))
    assert ga.unique(lazy).compute().shape == (0,)
    with pytest.raises(ValueError, match="max of no elements has no value"):
        lazy.max()


def test_arrays_without_axes():
    lazy, array = ga.asarray(3.5), np.asarray(3.5)
    for function in (lambda x, m: x + 1, lambda x, m: x.sum(), lambda x, m: x.reshape(1, 1), lambda x, m: x[None],
                     lambda x, m: x[()], lambda x, m: x[...], lambda x, m: m.where(x > 1, x, 0), lambda x, m: x.ravel(),
                     lambda x, m: m.atleast_2d(x), lambda x, m: x.T, lambda x, m: m.stack([x, x]), lambda x, m: x.mean(),
                     lambda x, m: m.broadcast_to(x, (2, 2)), lambda x, m: x.std(), lambda x, m: m.outer(x, x)):  # fmt: skip
        equal(function(lazy, ga), function(array, np))
    assert (float(lazy), lazy.item(), bool(lazy)) == (3.5, 3.5, True)
