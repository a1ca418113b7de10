"""`glassloom.backends.indexed_draws` in NumPy, for tests to compare kernels with."""

import numpy as np
from glassloom.backends import indexed_draws

_LOW = np.uint64(0xFFFFFFFF)
_32 = np.uint64(32)


def philox(counter, key):
    """Return the four words that Philox4x32-10 makes of the four of a counter and the two of a key, each an array or a number."""
    c = [np.asarray(word, np.uint64) for word in counter]
    k = [np.asarray(word, np.uint64) for word in key]
    for _ in range(10):
        p0, p1 = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        c = [(p1 >> _32) ^ c[1] ^ k[0], p1 & _LOW, (p0 >> _32) ^ c[3] ^ k[1], p0 & _LOW]
        k = [(k[0] + np.uint64(0x9E3779B9)) & _LOW, (k[1] + np.uint64(0xBB67AE85)) & _LOW]
    return c


def bits(sequence, indexes):
    """Return the 64 bits of these numbers of a stream."""
    key, high = indexed_draws.stream_words(sequence)
    i = np.asarray(indexes, np.uint64)
    half = i >> np.uint64(1)
    c = philox((half & _LOW, half >> _32, high & _LOW, high >> _32), (key & _LOW, key >> _32))
    return np.where(i & np.uint64(1), c[3] << _32 | c[2], c[1] << _32 | c[0])


def between(words):
    """Return numbers that are neither 0 nor 1."""
    return ((words >> np.uint64(12)).astype(float) + 0.5) * 2.0**-52


def drawn(base, sequence, indexes, dtype="float64"):
    """Return these numbers of a stream."""
    words = bits(sequence, indexes)
    if base == "random" and dtype == "float32":
        return (words >> np.uint64(40)).astype("float32") * np.float32(2.0**-24)
    if base == "random":
        return (words >> np.uint64(11)).astype(float) * 2.0**-53
    made = normal_quantile(between(words)) if base == "standard_normal" else -np.log1p(-between(words))
    return made.astype(dtype)


def normal_quantile(p):
    """Return the inverse of the normal distribution's function."""
    q = p - 0.5
    tail = np.sqrt(-np.log(np.where(q < 0, p, 1 - p)))
    centre = q * _ratio(indexed_draws._CENTRE, 0.180625 - q * q)
    outer = np.where(tail <= 5, _ratio(indexed_draws._SIDES, tail - 1.6), _ratio(indexed_draws._TAILS, tail - 5))
    return np.where(abs(q) <= 0.425, centre, np.where(q < 0, -outer, outer))


def _ratio(coefficients, r):
    above, below = (np.polyval([float(one) for one in reversed(each)], r) for each in coefficients)
    return above / below
