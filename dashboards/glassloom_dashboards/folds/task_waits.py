"""What is kept of how a task came to run and where its time went: waits, fetching, CPU, inputs. Pure.

Half-precision seconds are right within 0.05 % and 0.1 µs, and reach 18 hours: a task has room for a few bytes of each.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from glassloom_metrics.protocol import Action
from numpy.typing import NDArray

from glassloom_dashboards.folds.event_columns import Values

DTYPES = {
    "fetch_s": "<f2",
    "ready_s": "<f2",
    "sent_s": "<f2",
    "deserialise_s": "<f2",
    "cpu_s": "<f2",
    "bytes_in": "<u2",
    "link": "<u4",
    "attempt": "u1",
}
"""What the task table keeps, 17 bytes a row.

``ready_s`` is how long a task was ready before it began, ``sent_s`` how long before that it was sent to a worker. ``fetch_s``,
``deserialise_s`` and ``cpu_s`` are of its own time. ``link`` is how many rows before its own that of the input that came last
is (0: not known), or of a transfer the worker that made the result. ``bytes_in`` is a code: see `bytes_of_codes`. What isn't
known is NaN, but for ``fetch_s`` and ``ready_s``: these are 0 then.
"""
_MAX_S = 65_000.0
_STEPS_AN_OCTAVE = 1024
_UNKNOWN_CODE = 0xFFFF


def waits_of(values: Values, n_rows: int, stop_s: NDArray[np.float64]) -> dict[str, NDArray[Any]]:
    """Return the columns of `DTYPES` for rows that follow each other.

    A task that was sent ahead of its inputs was ready when the last of them was there, not when it was sent.

    Parameters
    ----------
    values
        What `values_of` returns for the rows.
    stop_s
        When the tasks of the rows before ended, as far back as they are kept without a gap.
    """
    start_s, duration_s, back = values["start_s"], values["duration_s"], values["last_input"]
    ready_s, link = _known(values["sent_wait_s"]) + _known(values["ready_wait_s"]), back
    if back.any():
        back = np.broadcast_to(back, n_rows).astype(np.int64)
        stops_s = np.concatenate([stop_s[-int(back.max()) :], np.broadcast_to(start_s + duration_s, n_rows)])
        row = len(stops_s) - n_rows + np.arange(n_rows) - back
        linked = np.flatnonzero((back > 0) & (row >= 0))
        since_s = np.maximum(np.broadcast_to(start_s, n_rows)[linked] - stops_s[row[linked]], 0.0)
        ready_s = np.broadcast_to(ready_s, n_rows).copy()
        ready_s[linked] = np.minimum(ready_s[linked], since_s)
        link = np.where(row >= 0, back, 0)
    fetch_s, is_moved = _known(values["fetch_s"]), values["action"] == Action.TRANSFER
    columns = {
        "fetch_s": _half(np.minimum(fetch_s, duration_s) if fetch_s.any() else fetch_s),
        "ready_s": _half(ready_s),
        "sent_s": _half(values["sent_wait_s"]),
        "deserialise_s": _half(values["deserialise_s"]),
        "cpu_s": _half(values["cpu_s"]),
        "bytes_in": codes_of_bytes(values["bytes_in"].astype(np.float64)),
        "link": np.where(is_moved, values["producer"], link).astype("<u4"),
        "attempt": values["attempt"],
    }
    return {name: np.broadcast_to(column, n_rows) for name, column in columns.items()}


def codes_of_bytes(nbytes: NDArray[np.float64]) -> NDArray[np.uint16]:
    """Return numbers of bytes, NaN where they aren't known, as codes of two bytes, right within 0.04 %.

    >>> bytes_of_codes(codes_of_bytes(np.array([0.0, 1.0, 2.0**20]))).tolist()
    [0.0, 1.0, 1048576.0]
    >>> bytes_of_codes(codes_of_bytes(np.array([np.nan]))).tolist()
    [nan]
    """
    steps = np.log2(np.fmax(np.minimum(nbytes, 2.0**62), 1.0)) * _STEPS_AN_OCTAVE
    codes = np.where(nbytes > 0, steps.round() + 1, 0)
    return np.where(np.isnan(nbytes), _UNKNOWN_CODE, codes).astype(np.uint16)


def bytes_of_codes(codes: NDArray[np.uint16]) -> NDArray[np.float64]:
    """Return the numbers of bytes that codes stand for, NaN where they aren't known."""
    nbytes = np.exp2((codes.astype(np.float64) - 1.0) / _STEPS_AN_OCTAVE)
    return np.where(codes == _UNKNOWN_CODE, np.nan, np.where(codes == 0, 0.0, nbytes))


def _half(seconds: NDArray[Any]) -> NDArray[np.float16]:
    return np.clip(seconds, 0.0, _MAX_S).astype(np.float16)


def _known(values: NDArray[Any]) -> NDArray[np.float64]:
    return np.fmax(values.astype(np.float64), 0.0)  # also of NaN
