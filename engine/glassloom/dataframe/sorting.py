"""The order of whole numbers: by counting 16 bits at a time, which takes less time than NumPy's sorts, or by what order they have."""

from __future__ import annotations

from typing import Any

import numpy as np

_BITS = 16
"""Numbers of as many bits are what NumPy itself sorts by counting."""
_FROM = 2**12
_STRIDE = 64
_FEW = 1 / 16
_SAMPLED, _SAMPLED_FROM = 4096, 2**14
_CELLS_PER_NUMBER = 4
"""A table of numbers is used if it has no more cells for each."""


def stable_places(numbers: Any) -> Any:
    """Return the places of whole numbers in ascending order, equal ones in the order of their places, as `int64`.

    As ``np.argsort(numbers, kind="stable")``: a radix sort from the least significant digit (Knuth, *The Art of Computer
    Programming*, vol. 3, 5.2.5), unless there are few, or most are in order already. Up to 48 bits it takes half the time.

    Parameters
    ----------
    numbers
        A one-dimensional array of integers.

    Examples
    --------
    >>> import numpy as np
    >>> stable_places(np.array([3, 1, 2, 1])).tolist()
    [1, 3, 2, 0]
    """
    if len(numbers) < _FROM or numbers.dtype.itemsize < 4 or is_nearly_sorted(numbers):
        return np.argsort(numbers, kind="stable")
    least = int(numbers.min())
    n_bits = (int(numbers.max()) - least).bit_length()
    wide = numbers.astype(np.int64) if numbers.dtype.itemsize < 8 else numbers
    rest = wide.view(np.uint64)
    if least:
        rest = rest - np.uint64(least % 2**64)  # modulo 2**64, also where int64 would overflow
    places = np.argsort(rest.astype(np.uint16), kind="stable")
    for shift in range(_BITS, n_bits, _BITS):
        digits = (rest >> np.uint64(shift)).astype(np.uint16)
        places = places[np.argsort(digits[places], kind="stable")]
    return places


def is_nearly_sorted(numbers: Any) -> bool:
    """Whether numbers mostly grow, seen from afar: then a stable sort, which joins what is in order, is quick."""
    if len(numbers) < _FROM:
        return False
    some = numbers[::_STRIDE]
    return int(np.count_nonzero(some[1:] < some[:-1])) <= _FEW * len(some)


def is_in_order(numbers: Any) -> bool:
    """Whether many numbers never decrease. Of those that do, mostly a few are looked at."""
    if len(numbers) < _FROM:
        return False
    some = numbers[::_STRIDE]
    return not bool((some[1:] < some[:-1]).any() or (numbers[1:] < numbers[:-1]).any())


def are_mostly_distinct(numbers: Any) -> bool:
    """Whether a sample says that there are a quarter as many different numbers as there are numbers, or more.

    Then to sort them is quicker than to look each up in a table, which doesn't fit the processor's cache. How many there are
    follows from how many of the sample repeat others: of `s` out of `d` different ones about ``s**2 / (2 * d)``.
    """
    if len(numbers) < _SAMPLED_FROM:
        return False
    some = numbers[:: len(numbers) // _SAMPLED]
    n_repeated = len(some) - len(np.unique(some))
    return n_repeated * len(numbers) <= 2 * len(some) ** 2


def distinct_numbers(values: Any) -> Any:
    """Return the distinct values of an array of numbers, rising, NaN last: as ``np.unique``, which hashes numbers since NumPy 2.3.

    By a table if whole numbers are close together, else by sorting, which joins what is sorted already.
    """
    if not len(values):
        return values
    if values.dtype.kind in "iu":
        least, most = int(values.min()), int(values.max())
        if most - least <= _CELLS_PER_NUMBER * len(values):
            occurs = np.zeros(most - least + 1, bool)
            wide = values if values.dtype.itemsize == 8 else values.astype(np.int64)
            occurs[wide - wide.dtype.type(least)] = True
            return np.flatnonzero(occurs).astype(values.dtype) + values.dtype.type(least)
    ordered = np.sort(values, kind="stable" if is_nearly_sorted(values) else None)
    begins = np.ones(len(ordered), bool)
    np.not_equal(ordered[1:], ordered[:-1], out=begins[1:])
    if values.dtype.kind == "f":
        begins[len(ordered) - int(np.count_nonzero(np.isnan(ordered))) + 1 :] = False
    return ordered[begins]


def sorted_runs(numbers: Any) -> tuple[Any, Any]:
    """Return the rows in the order of their numbers, equal ones in their old order, and which begin a new number."""
    order = stable_places(numbers)
    ordered = numbers[order]
    begins = np.ones(len(numbers), bool)
    np.not_equal(ordered[1:], ordered[:-1], out=begins[1:])
    return order, begins


def run_numbers(begins: Any) -> Any:
    """Return for each row the number of its run, from 0 on, as `int64`. The first row begins the first run.

    Parameters
    ----------
    begins
        For each row whether it begins a run.
    """
    numbers = begins.astype(np.int64)
    if len(numbers):
        numbers[0] = 0
    np.cumsum(numbers, out=numbers)  # in place: NumPy takes six times as long to add up booleans
    return numbers
