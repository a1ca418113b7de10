"""What hypothesis draws: arrays of every kind, cut in every way, and what can be done to them."""

import pickle

import cloudpickle
import glassloom.array as ga
import numpy as np
from hypothesis import strategies as st

NUMBERS = ("float64", "float32", "int64", "int16", "uint8", "complex128", "bool")


def equal(lazy, expected, **tolerance):
    """Assert that a lazy array says and computes what NumPy does: type, shape, chunks that add up, and values."""
    expected = np.asarray(expected)
    assert lazy.dtype == expected.dtype
    assert lazy.shape == expected.shape
    again = pickle.loads(cloudpickle.dumps(lazy))
    assert (again.name, again.chunks) == (lazy.name, lazy.chunks)
    result = np.asarray(lazy.compute(scheduler="inline"))
    assert result.dtype == expected.dtype
    assert result.shape == expected.shape
    if tolerance:
        np.testing.assert_allclose(result, expected, **tolerance)
    else:
        np.testing.assert_array_equal(result, expected)


@st.composite
def blocks_of(draw, length):
    """Lengths of blocks, some of which may be empty, that add up."""
    cuts = draw(st.lists(st.integers(0, length), max_size=3))
    edges = [0, *sorted(cuts), length]
    return tuple(stop - start for start, stop in zip(edges, edges[1:], strict=False))


@st.composite
def chunks_of(draw, shape):
    return tuple(draw(blocks_of(length)) for length in shape)


shapes = st.lists(st.integers(0, 7), max_size=3).map(tuple)
full_shapes = st.lists(st.integers(1, 7), min_size=1, max_size=3).map(tuple)


@st.composite
def values_of(draw, shape, dtype):
    """A NumPy array: small numbers with ties, and NaN now and then."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    array = rng.integers(0 if dtype in ("uint8", "bool") else -4, 5, size=shape).astype(dtype)
    if array.dtype.kind in "fc":
        array = array + np.asarray(rng.random(shape) * draw(st.sampled_from([0, 0.5])))
        if draw(st.booleans()):
            array = np.where(rng.random(shape) < 0.2, np.nan, array)
        array = array.astype(dtype)
    return np.asarray(array)


@st.composite
def arrays(draw, shape=shapes, dtypes=NUMBERS):
    """A NumPy array and the same as a lazy one."""
    lengths = draw(shape) if isinstance(shape, st.SearchStrategy) else shape
    array = draw(values_of(lengths, draw(st.sampled_from(dtypes))))
    return array, ga.from_array(array, chunks=draw(chunks_of(lengths)))


@st.composite
def axes_of(draw, ndim):
    """An axis, several, or None."""
    if not ndim:
        return None
    several = st.lists(st.integers(0, ndim - 1), unique=True, min_size=1).map(tuple)
    return draw(st.none() | st.integers(-ndim, ndim - 1) | several)


@st.composite
def slices_of(draw, length):
    bound = st.none() | st.integers(-length - 2, length + 2)
    return slice(draw(bound), draw(bound), draw(st.none() | st.integers(-4, 4).filter(bool)))


@st.composite
def indices_of(draw, shape):
    """Integers, slices, new axes, and an ellipsis."""
    entries = []
    for length in shape[: draw(st.integers(0, len(shape)))]:
        is_int = length and draw(st.booleans())
        entries.append(draw(st.integers(-length, length - 1)) if is_int else draw(slices_of(length)))
    for _ in range(draw(st.integers(0, 2))):
        entries.insert(draw(st.integers(0, len(entries))), None)
    if draw(st.booleans()):
        entries.insert(draw(st.integers(0, len(entries))), ...)
        # what stands behind the ellipsis counts from the back: keep only what fits there
        behind = entries[entries.index(...) + 1 :]
        if any(entry is not None for entry in behind):
            entries = entries[: entries.index(...) + 1]
    return tuple(entries)
