"""`TaskEvents`: rows of finished tasks, transfers and spills as columns, and what reads and makes them."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Sequence
from enum import IntEnum
from operator import add
from typing import Any

import msgspec

from glassloom_metrics.message_base import MessageBase


class Action(IntEnum):
    """What a lane was doing during a task event."""

    COMPUTE = 0
    TRANSFER = 1
    SPILL_WRITE = 2
    SPILL_READ = 3
    DEVICE_TO_HOST = 4
    HOST_TO_DEVICE = 5
    SERIALISE = 6


PUBLISH_LANE = 0xFFFF
SPILL_LANE = 0xFFFE
TRANSFER_LANE = 0xFFFD
DEVICE_LANE = 0xFFFC
"""Lanes of a worker for what is no run of a task: `SERIALISE`, `SPILL_WRITE` and `SPILL_READ`, `TRANSFER`, and what is copied
from a device to the host (`DEVICE_TO_HOST`) and back."""


Column = bytes | int | float
"""A numeric column of `TaskEvents`: its elements packed, or the one value that all rows have. `column` reads both.

Integers of which none is negative are packed in elements of 1, 2 or 4 bytes if that is less than their type has and holds all.
"""

NO_WORKER = 0xFFFFFFFF
"""`TaskEvents.producer` of what no worker has made, and of rows that moved nothing."""


class TaskEvents(MessageBase, frozen=True, tag="tasks"):
    """Finished task events as columns, in the order in which the head learnt of them.

    ``first`` is the number of the first row, counted from the start of the cluster. ``index`` is the rest of the key, such
    as ``"3, 4"``, or ``""``. Of the other columns `COLUMN_TYPECODES` has the element types, and `UNKNOWN` what stands for
    a value that isn't known. ``duration_s`` is from start to stop; reading inputs (``fetch_s`` and ``deserialise_s``) is
    part of it. The run of a row is that of its layer.

    Between processes, index texts that are all hexadecimal digits are packed: ``tokens`` has ``token_digits`` of them a row, two
    a byte, and ``index`` is empty. `pack_index` and `unpack_index` go from one to the other; readers only see ``index``.
    """

    first: int
    index: list[str]
    layer: Column
    worker: Column
    lane: Column
    action: Column
    ok: Column
    attempt: Column
    start_s: Column
    duration_s: Column
    ready_wait_s: Column
    sent_wait_s: Column
    fetch_s: Column
    deserialise_s: Column
    cpu_s: Column
    nbytes: Column
    bytes_in: Column
    producer: Column
    last_input: Column
    tokens: bytes = b""
    token_digits: int = 0

    def __len__(self) -> int:
        return 2 * len(self.tokens) // self.token_digits if self.token_digits else len(self.index)


COLUMN_TYPECODES = {
    "layer": "I",
    "worker": "I",
    "lane": "H",
    "action": "B",
    "ok": "B",
    "attempt": "B",
    "start_s": "d",
    "duration_s": "f",
    "ready_wait_s": "f",
    "sent_wait_s": "f",
    "fetch_s": "f",
    "deserialise_s": "f",
    "cpu_s": "f",
    "nbytes": "q",
    "bytes_in": "f",
    "producer": "I",
    "last_input": "I",
}
"""`array` typecodes of the numeric columns of `TaskEvents` (NumPy's: I is u4, H u2, B u1, q i8, d f8 and f f4)."""

_FLOATS = frozenset(name for name, typecode in COLUMN_TYPECODES.items() if typecode in "df")
_LEAST_DIGITS = 8
UNKNOWN = {
    "attempt": 1,
    "ready_wait_s": math.nan,
    "sent_wait_s": math.nan,
    "fetch_s": math.nan,
    "deserialise_s": math.nan,
    "cpu_s": math.nan,
    "nbytes": -1,
    "bytes_in": math.nan,
    "producer": NO_WORKER,
    "last_input": 0,
}
"""The value of a numeric column of `TaskEvents` in rows that it isn't known of; the others are always known."""


def column(message: TaskEvents, name: str) -> array:
    """Return one numeric column of `message` as an `array.array`, whether it is packed or one value for all rows.

    Examples
    --------
    >>> events = task_events(5, ["3, 4", "3, 5"], layer=array("I", [7, 8]), worker=2)
    >>> column(events, "layer"), column(events, "worker")
    (array('I', [7, 8]), array('I', [2, 2]))
    """
    value, typecode = getattr(message, name), COLUMN_TYPECODES[name]
    if not isinstance(value, bytes):
        return array(typecode, [value]) * len(message)
    values = array(typecode)
    values.frombytes(_widen(value, len(value) // max(len(message), 1), values.itemsize))
    return values


def given_columns(messages: Sequence[TaskEvents]) -> dict[str, tuple[Column, ...]]:
    """Return each numeric column as it is in each of the messages: packed, or one value for all rows.

    >>> given_columns([task_events(0, ["a"], lane=1), task_events(1, ["b", "c"], lane=2)])["lane"]
    (1, 2)
    """
    given = zip(*map(msgspec.structs.astuple, messages), strict=True)
    columns = zip(TaskEvents.__struct_fields__, given, strict=True)
    return {name: values for name, values in columns if name in COLUMN_TYPECODES}


def stops_s(message: TaskEvents) -> array:
    """Return when the events ended."""
    return array("d", map(add, column(message, "start_s"), column(message, "duration_s")))


def task_events(first: int, index: list[str], **columns: Iterable[float] | float) -> TaskEvents:
    """Return rows of these numeric columns, each a value for each row, or one for all. Those left out are unknown, or 0."""
    given = {name: columns.get(name, UNKNOWN.get(name, 0)) for name in COLUMN_TYPECODES}
    packed: dict[str, Any] = {
        name: pack_column(name, values) if isinstance(values, Iterable) else values for name, values in given.items()
    }
    return TaskEvents(first, index, **packed)


def pack_column(name: str, values: Iterable[float]) -> Column:
    """Return `values` as the column `name`: packed, or as one number if they are alike."""
    packed = values if isinstance(values, array) else array(COLUMN_TYPECODES[name], values)
    data, size = packed.tobytes(), packed.itemsize
    if data and data == data[:size] * len(packed):
        return packed[0]
    return data if name in _FLOATS else _narrow(data, size)


def element_sizes(name: str) -> tuple[int, ...]:
    """Return how many bytes an element of a packed column may have."""
    size = array(COLUMN_TYPECODES[name]).itemsize
    return (size,) if name in _FLOATS else tuple(each for each in (1, 2, 4, 8) if each <= size)


def _bounds(typecode: str) -> tuple[int, int]:
    """Return the least and the greatest of a type's integers."""
    bits = 8 * array(typecode).itemsize
    return (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if typecode.islower() else (0, 2**bits - 1)


def _narrow(data: bytes, size: int) -> bytes:
    """Return integers of `size` bytes in as few bytes each as hold all of them."""
    rows, used = len(data) // size, size
    while used > 1 and data[used - 1 :: size].count(0) == rows:
        used -= 1
    narrow = 1 << (used - 1).bit_length()
    return data if narrow == size else _resize(data, size, narrow)


def _widen(data: bytes, narrow: int, size: int) -> bytes:
    return data if narrow == size else _resize(data, narrow, size)


def _resize(data: bytes, size: int, new_size: int) -> bytes:
    """Return little-endian integers of `size` bytes each in `new_size`."""
    resized = bytearray(len(data) // size * new_size)
    for place in range(min(size, new_size)):
        resized[place::new_size] = data[place::size]
    return bytes(resized)


def pack_index(message: TaskEvents) -> TaskEvents:
    """Return rows with their index texts packed, if they are all hexadecimal digits, and equally many."""
    index = message.index
    digits = len(index[0]) if index else 0
    if digits < _LEAST_DIGITS or digits % 2 or set(map(len, index)) != {digits}:
        return message
    text = "".join(index)
    try:
        tokens = bytes.fromhex(text)
    except ValueError:
        return message
    if tokens.hex() != text:  # capital letters, spaces
        return message
    return msgspec.structs.replace(message, index=[], tokens=tokens, token_digits=digits)


def unpack_index(message: TaskEvents) -> TaskEvents:
    """Return rows with their index texts as such; raises `msgspec.DecodeError` if they can't be."""
    digits = message.token_digits
    if not digits:
        return message
    if message.index or digits < 0 or digits % 2 or 2 * len(message.tokens) % digits:
        raise msgspec.DecodeError(f"{len(message.tokens)} bytes of tokens can't be rows of {digits} digits")
    text = message.tokens.hex()
    index = [text[start : start + digits] for start in range(0, len(text), digits)]
    return msgspec.structs.replace(message, index=index, tokens=b"", token_digits=0)


_FIRST_COLUMN = TaskEvents.__struct_fields__.index(next(iter(COLUMN_TYPECODES)))
_SIZES_AND_BOUNDS = tuple(
    (element_sizes(name), None if name in _FLOATS else _bounds(typecode)) for name, typecode in COLUMN_TYPECODES.items()
)


def is_sound(message: TaskEvents) -> bool:
    """Tell whether the columns are as long as there are rows, and single values fit. Of most messages; others need a closer look."""
    rows = len(message)
    values = msgspec.structs.astuple(message)[_FIRST_COLUMN:]
    for value, (sizes, bounds) in zip(values, _SIZES_AND_BOUNDS, strict=False):
        if type(value) is bytes:
            if not rows or len(value) % rows or len(value) // rows not in sizes:
                return False
        elif bounds is not None and not (type(value) is int and bounds[0] <= value <= bounds[1]):
            return False
    return True


def check_values(message: TaskEvents) -> None:
    """Raise `msgspec.DecodeError` if one value for all rows doesn't fit into its column."""
    for name, typecode in COLUMN_TYPECODES.items():
        value = getattr(message, name)
        if not isinstance(value, bytes):
            try:
                array(typecode, [value])
            except (OverflowError, TypeError) as error:
                raise msgspec.DecodeError(f"column {name!r} of task events can't be {value!r}: {error}") from error
