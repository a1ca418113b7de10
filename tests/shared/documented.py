"""Calls what array-support.md and dataframe-support.md say runs on a device, on CuPy and cuDF and on the host, and compares. For processes of their own."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

_ROOT = Path(__file__).parents[2]
_SIGNS_ARE_FREE = {"svd", "eig", "eigh", "qr"}
"""Vectors of these are theirs with either sign."""
_IN_NO_ORDER = {"eig", "eigvals"}
_WITHOUT_VALUES = {"empty", "empty_like", "ndarray", "argpartition"}
"""What is left open, or its order is."""
_OPEN_FOR_INTEGERS = {"reciprocal"}
"""Of the integer 0, C leaves these open, and NumPy gives what the processor does."""
_SECONDS = 60
"""The first call of CuPy's functions compiles kernels."""
_MOST_CALLS = 6
_NO_SUCH_VALUES = "cudf has no values like those of its result"
"""A clear error, as of complex numbers."""
_NO_LABELS = {("DataFrame", "xs", 37)}
"""A call whose argument is a frame in place of a label."""


def load_documentation() -> None:
    """Make the scripts that write the pages importable, and let them wait for kernels to be compiled."""
    sys.path[:0] = [str(_ROOT / "docs"), str(_ROOT / "tests" / "dataframe")]
    import array_on_device

    array_on_device._SECONDS = _SECONDS


def documented(page: str) -> list[tuple[str, str]]:
    """Return namespaces and names of a page whose results a device takes part in."""
    found = json.loads((_ROOT / "docs" / f"{page}-on-device.json").read_text())
    return [(owner, name) for owner, names in found.items() for name, answer in names.items() if _is_tried(answer)]


def _is_tried(answer: str) -> bool:
    return answer.startswith("yes") or answer in ("needs no rows", "no: partitions move to the host")


# Arrays


def array_faults(function: tuple[str, str]) -> list[str]:
    """Return how calls of a function on CuPy differ from NumPy; an entry for each call that fails or differs."""
    import array_on_device as page
    import array_support

    title, name = function
    owner = next(ours for known, _, ours in array_support.NAMESPACES if known == title)
    faults, n_tried = [], 0
    for number, call in enumerate(page.CALLS):
        expected = _array_result(page, title, owner, name, call, "numpy")
        if isinstance(expected, BaseException) or page._on_device(title, owner, name, call) not in (page.YES, page.FEW):
            continue
        for configured in ("cupy",) if title.startswith("numpy.random") else ("cupy", "numpy"):
            found = _array_result(page, title, owner, name, call, configured, page.values("cupy"))
            fault = _error(found) or _difference(title, name, found, expected)
            if fault:
                faults.append(f"call {number}, configured backend {configured}: {fault}")
        n_tried += 1
        if n_tried == _MOST_CALLS:
            break
    return faults if n_tried else ["no call works on the host and on the simulated device"]


def _array_result(page: Any, title: str, owner: Any, name: str, call: Any, backend: str, known: Any = None) -> Any:
    results: list[Any] = []
    computed = page._compute
    try:
        page._compute = lambda made: results.extend(_computed(made))
        error = page._outcome(title, owner, name, call, backend, known)
    finally:
        page._compute = computed
    return RuntimeError(error) if error else results


def _computed(made: Any) -> list[Any]:
    several = made if isinstance(made, (tuple, list)) else [made]
    results = [one.compute(scheduler="inline") if hasattr(one, "compute") else one for one in several]
    return [one.get() if hasattr(one, "get") and not isinstance(one, dict) else one for one in results]


def _error(found: Any) -> str | None:
    return str(found) or type(found).__name__ if isinstance(found, BaseException) else None


def _difference(title: str, name: str, found: list[Any], expected: list[Any]) -> str | None:
    if len(found) != len(expected):
        return f"{len(found)} results in place of {len(expected)}"
    if name in _IN_NO_ORDER:
        found, expected = _by_eigenvalue(found), _by_eigenvalue(expected)
    for one, other in zip(found, expected, strict=True):
        if not isinstance(other, (np.ndarray, np.generic)):
            continue
        one, other = np.asarray(one), np.asarray(other)
        if (one.shape, one.dtype) != (other.shape, other.dtype):
            return f"{one.shape} of {one.dtype} in place of {other.shape} of {other.dtype}"
        if title.startswith("numpy.random") or name in _WITHOUT_VALUES:
            continue
        if other.dtype == object:  # such as functions, of which NumPy makes arrays too: they stay on the host
            continue
        if name in _OPEN_FOR_INTEGERS and other.dtype.kind in "iu":
            continue
        if name in _SIGNS_ARE_FREE and one.ndim > 1:
            one, other = abs(one), abs(other)
        tolerance = 1e-4 if one.dtype.itemsize <= 4 else 1e-9
        try:
            np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)
        except Exception as error:
            return " ".join(str(error).split())[:300]
    return None


def _by_eigenvalue(results: list[Any]) -> list[Any]:
    """Return eigenvalues, and the columns that belong to them, in the order of the eigenvalues."""
    values = np.asarray(results[0])
    order = np.lexsort((values.imag.round(6), values.real.round(6)))
    return [np.asarray(one)[..., order] for one in results]


# Frames


def frame_faults(method: tuple[str, str]) -> list[str]:
    """Return how calls of a method on cuDF differ from pandas; an entry for each call that fails or differs."""
    import dataframe_on_device as page

    kind, name = method
    faults, n_tried = [], 0
    for title, data in page.FRAMES.items():
        for number, call in enumerate(page.CALLS):
            expected, again = (page._outcome(kind, name, call, page._lazy(data, "pandas")) for _ in range(2))
            if isinstance(expected, Exception) or (kind, name, number) in _NO_LABELS:
                continue
            n_tried += 1
            if _difference_of_frames(again, expected):
                continue  # what is drawn at random, or named after an object
            found = page._outcome(kind, name, call, page._lazy(data, "cudf"))
            if isinstance(found, NotImplementedError) and _NO_SUCH_VALUES in str(found):
                continue
            fault = _error(found) or _difference_of_frames(found, expected)
            if fault and "<lambda>" not in fault:
                faults.append(f"{title}, call {number}: {fault}")
            if n_tried == _MOST_CALLS:
                return faults
        if n_tried:
            break
    return faults if n_tried else ["no call works on the host"]


def _difference_of_frames(found: list[Any], expected: list[Any]) -> str | None:
    if len(found) != len(expected):
        return f"{len(found)} results in place of {len(expected)}"
    for one, other in zip(found, expected, strict=True):
        one = one.to_pandas() if type(one).__module__.startswith("cudf") else one
        try:
            _assert_same(one, other)
        except Exception as error:
            return " ".join(str(error).split())[:300]
    return None


def _assert_same(one: Any, other: Any) -> None:
    if isinstance(other, pd.DataFrame):
        pd.testing.assert_frame_equal(one, other, check_dtype=False, check_index_type=False, check_freq=False)
    elif isinstance(other, pd.Series):
        pd.testing.assert_series_equal(one, other, check_dtype=False, check_index_type=False, check_freq=False)
    elif isinstance(other, pd.Index):
        pd.testing.assert_index_equal(one, other, exact=False)
    elif isinstance(other, (int, float, str, np.generic)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert one == other or (one != one and other != other) or abs(one - other) < 1e-9, (
                f"{one!r} in place of {other!r}"
            )
