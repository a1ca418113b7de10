"""`messages.Finished`: what a worker packs is what the head unpacks."""

from __future__ import annotations

from array import array
from operator import sub
from typing import Any

from glassloom.protocol import messages
from glassloom.protocol.finished import FinishedTasks, finished_message
from hypothesis import given
from hypothesis import strategies as st

FLOATS = st.floats(0, 1e6, width=32)
ROWS = st.lists(
    st.tuples(
        st.integers(0, 30),
        st.integers(0, 2),
        st.floats(0, 1e6),
        st.floats(0, 1e6),
        st.integers(0, 2**62),
        FLOATS,
        FLOATS,
        FLOATS,
        st.none() | st.binary(max_size=5),
    ),
    min_size=1,
)


def _seconds(finished: FinishedTasks) -> list[Any]:
    return [finished.cpu_s, finished.fetch_s, finished.deserialise_s]


@given(ROWS)
def test_columns_come_as_they_were_sent(rows: list[tuple[Any, ...]]) -> None:
    columns = list(map(list, zip(*rows, strict=True)))
    numbers, lanes, starts_s, stops_s, nbytes, *seconds, results = columns
    message = finished_message(*columns)
    payload = messages.framed(message)[4:]
    finished = FinishedTasks(messages.from_worker_decoder.decode(payload))  # type: ignore[arg-type]
    assert list(finished.numbers) == numbers
    assert finished.lanes.tolist() == lanes
    assert finished.times.starts_s.tolist() == starts_s
    assert finished.times.stops_s.tolist() == stops_s
    spread = [each if isinstance(each, array) else [each] * len(rows) for each in _seconds(finished)]
    assert [list(each) for each in spread] == seconds
    assert finished.durations_s == list(map(sub, stops_s, starts_s))
    assert finished.nbytes.tolist() == nbytes
    assert finished.results == results


def test_what_is_alike_or_follows_each_other_is_said_once() -> None:
    nothing, one = [0.0] * 3, [1.0] * 3
    message = finished_message([5, 6, 7], [1, 1, 1], nothing, one, [32, 32, 32], one, nothing, nothing, [b"a"] * 3)
    assert (message.runs, message.lanes, message.nbytes, message.cpu_s, message.fetch_s) == ([5, 3], 1, 32, 1.0, 0.0)
    assert FinishedTasks(message).numbers == range(5, 8)
    message = finished_message([5, 7, 8], [1, 0, 1], nothing, one, [32, 8, 32], one, one, one, [None] * 3)
    assert (message.runs, message.lanes, message.nbytes) == ([5, 1, 7, 2], [1, 0, 1], [32, 8, 32])
