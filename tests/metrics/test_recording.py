"""Recordings that are whole, cut off, damaged, or none at all."""

from __future__ import annotations

import msgspec
import pytest
from glassloom_metrics.errors import RecordingError
from glassloom_metrics.framing import frame
from glassloom_metrics.protocol import PROTOCOL_VERSION, Hello, Life, Log, WorkerSamples, encode, task_events
from glassloom_metrics.recording import read_recording
from glassloom_metrics.segments import MAGIC
from hypothesis import given, settings
from hypothesis import strategies as st
from long_tests import examples

MESSAGES = [
    Hello(2, "c1", "demo", "threads", 0.0),
    Life(1.0, "started"),
    Log(2.0, -1, "info", "größer"),
    Life(3.0, "closing"),
]
WHOLE = MAGIC + b"".join(frame(encode(message)) for message in MESSAGES)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("recording") / "run.glr"


@pytest.mark.fault("a recording is cut or damaged")
def test_every_cut_yields_the_messages_before_it(path):
    ends = [len(MAGIC)]
    for message in MESSAGES:
        ends.append(ends[-1] + len(frame(encode(message))))
    for cut in range(len(MAGIC), len(WHOLE) + 1):
        path.write_bytes(WHOLE[:cut])
        assert list(read_recording(path)) == MESSAGES[: sum(end <= cut for end in ends) - 1]


def test_a_cut_recording_says_where_it_was_cut(path):
    path.write_bytes(WHOLE[:-3])
    recording = read_recording(path)
    assert list(recording) == MESSAGES[:-1]
    start = len(WHOLE) - len(frame(encode(MESSAGES[-1])))
    assert recording.damage == (
        f"'{path}' is damaged: it ends within a frame that begins at byte {start} of {len(WHOLE) - 3}"
    )
    assert recording.unreadable == 0
    path.write_bytes(WHOLE)
    assert (list(recording), recording.damage) == (MESSAGES, "")


def test_a_recording_that_is_written_meanwhile_is_read_as_it_was_and_is_not_called_damaged(path):
    # More than a file's buffer, so that what is added is seen by who reads on; the first file ends within a frame.
    logs = [Log(float(number), -1, "info", "line " * 200) for number in range(100)]
    data = MAGIC + b"".join(frame(encode(log)) for log in logs)
    half = data.index(frame(encode(logs[50])))
    for cut in (half, half + 20):
        path.write_bytes(data[:cut])
        recording = read_recording(path)
        messages = iter(recording)
        read = [next(messages)]
        with path.open("ab") as file:
            file.write(data[cut:])
        read += messages
        assert (read, recording.damage) == (logs[: 50 + (cut > half)], "")
        assert (list(recording), recording.damage) == (logs, "")


@pytest.mark.parametrize(
    "bad",
    [
        b"\xc1",
        b"\x82\xa4type\xa3log\xa4text\xa2\xff\xfe",
        encode(WorkerSamples(1.0, [0, 1], [2.0], [3], [4], [5], [6], [7], [8])),
        encode(msgspec.structs.replace(task_events(0, []), layer=b"1234")),
        msgspec.msgpack.encode({"type": "life", "at_s": "soon", "event": "started"}),
    ],
)
def test_a_message_that_cannot_be_read_costs_no_other_message(path, bad):
    first = MAGIC + frame(encode(MESSAGES[0]))
    path.write_bytes(first + frame(bad) + WHOLE[len(first) :])
    recording = read_recording(path)
    assert list(recording) == MESSAGES
    assert recording.unreadable == 1
    assert f"the message at byte {len(first)} cannot be read: " in recording.damage


def test_messages_of_types_from_the_future_are_left_out_and_nothing_is_wrong_with_the_file(path):
    future = frame(msgspec.msgpack.encode({"type": "novelties", "ids": [1]}))
    empty = task_events(0, [])  # false as a sequence, but a message
    path.write_bytes(MAGIC + frame(encode(MESSAGES[0])) + future + frame(encode(empty)))
    recording = read_recording(path)
    assert [encode(message) for message in recording] == [encode(MESSAGES[0]), encode(empty)]  # it has nan
    assert (recording.unreadable, recording.damage) == (0, "")


def test_columns_that_a_cluster_knows_nothing_of_may_be_empty(path):
    samples = WorkerSamples(1.0, [0, 1], [2.0] * 2, [3] * 2, [4] * 2, [5] * 2, [6] * 2, [7] * 2, [8] * 2)
    path.write_bytes(MAGIC + frame(encode(samples)))
    assert list(read_recording(path)) == [samples]


@pytest.mark.fault("a recording is cut or damaged")
@settings(max_examples=examples(300), deadline=None)
@given(st.integers(len(MAGIC), len(WHOLE) - 1), st.integers(1, 255))
def test_a_damaged_byte_loses_no_message_before_it_and_never_raises(path, place, difference):
    damaged = bytearray(WHOLE)
    damaged[place] ^= difference
    path.write_bytes(damaged)
    ends = [len(MAGIC)]
    for message in MESSAGES:
        ends.append(ends[-1] + len(frame(encode(message))))
    whole = sum(end <= place for end in ends) - 1
    read = list(read_recording(path))
    assert read[:whole] == MESSAGES[:whole]
    assert len(read) <= len(MESSAGES)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is not a Glassloom recording"),
        (b"PAR1....", "is not a Glassloom recording"),
        (MAGIC[:-1] + b"\x09", f"is a recording of version 9; this Glassloom reads {PROTOCOL_VERSION}"),
    ],
)
def test_what_is_no_recording_of_ours_is_refused_with_its_name(path, content, words):
    path.write_bytes(content)
    with pytest.raises(RecordingError, match=words) as caught:
        read_recording(path)
    assert str(path) in str(caught.value)
