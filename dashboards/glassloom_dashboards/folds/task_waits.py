"""What is kept of how a task came to run and where its time went: waits, fetching, CPU, inputs. Pure.

Half-precision seconds are right within 0.05 % and 0.1 µs, and reach 18 hours: a task has room for a few bytes of each.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from glassloom_metrics.protocol import Action, TaskEvents, column
from numpy.typing import NDArray

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


def waits_of(message: TaskEvents, skip: int, stop_s: NDArray[np.float64]) -> dict[str, NDArray[Any]]:
    """Return the columns of `DTYPES` for the rows of a message but its first `skip`.

    A task that was sent ahead of its inputs was ready when the last of them was there, not when it was sent.

    Parameters
    ----------
    stop_s
        When the tasks of the rows before those of the message ended, as far back as they are kept without a gap.
    """
    names = ("sent_wait_s", "ready_wait_s", "fetch_s", "duration_s", "deserialise_s", "cpu_s", "bytes_in")
    values = {name: np.frombuffer(column(message, name), "<f4")[skip:].astype(np.float64) for name in names}
    start_s = np.frombuffer(column(message, "start_s"), "<f8")[skip:]
    back = np.frombuffer(column(message, "last_input"), "<u4")[skip:].astype(np.int64)
    row = len(stop_s) + np.arange(len(back)) - back
    ready_s = _known(values["sent_wait_s"]) + _known(values["ready_wait_s"])
    before, within = ((back > 0) & (row >= 0) & (row < len(stop_s))), (back > 0) & (row >= len(stop_s))
    for linked, stops, first in ((before, stop_s, 0), (within, start_s + values["duration_s"], len(stop_s))):
        since_s = start_s[linked] - stops[row[linked] - first]
        ready_s[linked] = np.minimum(ready_s[linked], np.maximum(since_s, 0.0))
    is_moved = np.frombuffer(column(message, "action"), "u1")[skip:] == Action.TRANSFER
    producer = np.frombuffer(column(message, "producer"), "<u4")[skip:]
    return {
        "fetch_s": _half(np.minimum(_known(values["fetch_s"]), values["duration_s"])),
        "ready_s": _half(ready_s),
        "sent_s": _half(values["sent_wait_s"]),
        "deserialise_s": _half(values["deserialise_s"]),
        "cpu_s": _half(values["cpu_s"]),
        "bytes_in": codes_of_bytes(values["bytes_in"]),
        "link": np.where(is_moved, producer, np.where(row >= 0, back, 0)).astype("<u4"),
        "attempt": np.frombuffer(column(message, "attempt"), "u1")[skip:],
    }


def codes_of_bytes(nbytes: NDArray[np.float64]) -> NDArray[np.uint16]:
    """Return numbers of bytes, NaN where they aren't known, as codes of two bytes, right within 0.04 %.

    >>> bytes_of_codes(codes_of_bytes(np.array([0.0, 1.0, 2.0**20]))).tolist()
    [0.0, 1.0, 1048576.0]
    >>> bytes_of_codes(codes_of_bytes(np.array([np.nan]))).tolist()
    [nan]
    """
    steps = np.log2(np.clip(np.nan_to_num(nbytes), 1.0, 2.0**62)) * _STEPS_AN_OCTAVE
    codes = np.where(nbytes > 0, steps.round() + 1, 0)
    return np.where(np.isnan(nbytes), _UNKNOWN_CODE, codes).astype(np.uint16)


def bytes_of_codes(codes: NDArray[np.uint16]) -> NDArray[np.float64]:
    """Return the numbers of bytes that codes stand for, NaN where they aren't known."""
    nbytes = np.exp2((codes.astype(np.float64) - 1.0) / _STEPS_AN_OCTAVE)
    return np.where(codes == _UNKNOWN_CODE, np.nan, np.where(codes == 0, 0.0, nbytes))


def _half(seconds: NDArray[np.float64]) -> NDArray[np.float16]:
    return np.clip(seconds, 0.0, _MAX_S).astype(np.float16)


def _known(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.maximum(np.nan_to_num(values, nan=0.0), 0.0)
