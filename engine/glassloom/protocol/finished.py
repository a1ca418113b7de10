"""`messages.Finished` in use: a worker packs the columns of its results, the head unpacks them as sequences."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import chain
from operator import sub

from glassloom.protocol.messages import Finished


def finished_message(
    numbers: list[int],
    lanes: list[int] | int,
    starts_s: list[float],
    stops_s: list[float],
    nbytes: list[int],
    cpu_s: Sequence[float],
    fetch_s: list[float],
    deserialise_s: list[float],
    results: list[bytes | None],
) -> Finished:
    """Return the message that tells of results, one element of each column a task, at least one."""
    return Finished(
        _runs(numbers),
        lanes if isinstance(lanes, int) else _collapsed(lanes),
        array("d", starts_s).tobytes(),
        array("d", stops_s).tobytes(),
        _collapsed(nbytes),
        _packed(cpu_s),
        _packed(fetch_s),
        _packed(deserialise_s),
        results,
    )


class RunTimes:
    """When some tasks ran, and how large their results are: what is to be remembered of a `Finished`."""

    __slots__ = ("_starts_s", "_stops_s", "nbytes")

    def __init__(self, starts_s: bytes, stops_s: bytes, nbytes: array[int]) -> None:
        self._starts_s = starts_s
        self._stops_s = stops_s
        self.nbytes = nbytes

    @property
    def starts_s(self) -> array[float]:
        """When the tasks began, monotonic."""
        return _unpacked(self._starts_s)

    @property
    def stops_s(self) -> array[float]:
        """When they ended, monotonic."""
        return _unpacked(self._stops_s)

    @property
    def durations_s(self) -> list[float]:
        """How long they took."""
        return list(map(sub, self.stops_s, self.starts_s))


Floats = Sequence[float] | float
"""A number for each task, or one for all."""


class FinishedTasks:
    """The columns of a `Finished`, an element for each task.

    Attributes
    ----------
    numbers
        A range if the tasks follow each other.
    lanes, nbytes
        Of each task the lane on which it ran, and the size of its result.
    results
        The pickles of small results, None for those that the worker keeps.
    times
        When the tasks ran.
    durations_s
        For how long.
    cpu_s, fetch_s, deserialise_s
        See `Finished`.
    """

    __slots__ = ("cpu_s", "deserialise_s", "durations_s", "fetch_s", "lanes", "nbytes", "numbers", "results", "times")

    def __init__(self, message: Finished) -> None:
        n = len(message.results)
        self.numbers = _numbers(message.runs)
        self.lanes = _spread("H", message.lanes, n)
        self.nbytes = _spread("q", message.nbytes, n)
        self.results = message.results
        self.times = RunTimes(message.starts_s, message.stops_s, self.nbytes)
        self.durations_s = self.times.durations_s
        self.cpu_s = _floats(message.cpu_s)
        self.fetch_s = _floats(message.fetch_s)
        self.deserialise_s = _floats(message.deserialise_s)


def _runs(numbers: list[int]) -> list[int]:
    """Return the first and the length of each run of numbers that follow each other.

    >>> _runs([3, 4, 5, 9, 7, 8])
    [3, 3, 9, 1, 7, 2]
    """
    first, n = numbers[0], len(numbers)
    if numbers[-1] - first + 1 == n and numbers == list(range(first, first + n)):
        return [first, n]
    runs = [first, 0]
    following = first
    for number in numbers:
        if number != following:
            runs += (number, 0)
        runs[-1] += 1
        following = number + 1
    return runs


def _numbers(runs: list[int]) -> Sequence[int]:
    ranges = [range(first, first + n) for first, n in zip(runs[::2], runs[1::2], strict=True)]
    return ranges[0] if len(ranges) == 1 else list(chain.from_iterable(ranges))


def _collapsed(values: list[int]) -> list[int] | int:
    return values[0] if values.count(values[0]) == len(values) else values


def _packed(values: Sequence[float]) -> bytes | float:
    first = values[0]
    if values.count(first) == len(values):
        return first
    return (values if isinstance(values, array) else array("f", values)).tobytes()


def _floats(column: bytes | float) -> Floats:
    return _unpacked(column, "f") if isinstance(column, bytes) else column


def _spread(typecode: str, values: list[int] | int, n: int) -> array[int]:
    return array(typecode, [values]) * n if isinstance(values, int) else array(typecode, values)


def _unpacked(column: bytes, typecode: str = "d") -> array[float]:
    values: array[float] = array(typecode)
    values.frombytes(column)
    return values
