"""Recordings that are whole, cut off, damaged, or none at all."""

from __future__ import annotations

import pytest
from glassloom_metrics.errors import RecordingError
from glassloom_metrics.framing import frame
from glassloom_metrics.protocol import Hello, Life, Log, encode
from glassloom_metrics.recording import read_recording
from glassloom_metrics.segments import MAGIC
from hypothesis import given, settings
from hypothesis import strategies as st

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


def test_every_cut_yields_the_messages_before_it(path):
    ends = [len(MAGIC)]
    for message in MESSAGES:
        ends.append(ends[-1] + len(frame(encode(message))))
    for cut in range(len(MAGIC), len(WHOLE) + 1):
        path.write_bytes(WHOLE[:cut])
        assert list(read_recording(path)) == MESSAGES[: sum(end <= cut for end in ends) - 1]


@settings(max_examples=300, deadline=None)
@given(st.integers(0, len(WHOLE) - 1), st.integers(1, 255))
def test_a_damaged_byte_gives_messages_or_a_recording_error_and_nothing_else(path, place, difference):
    damaged = bytearray(WHOLE)
    damaged[place] ^= difference
    path.write_bytes(damaged)
    try:
        assert len(list(read_recording(path))) <= len(MESSAGES)
    except RecordingError as error:
        assert str(path) in str(error)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is not a Glassloom recording"),
        (b"PAR1....", "is not a Glassloom recording"),
        (MAGIC[:-1] + b"\x09", "is a recording of version 9; this Glassloom reads 2"),
        (MAGIC + frame(b"\xc1"), "is damaged near byte"),
        (MAGIC + frame(b"\x82\xa4type\xa3log\xa4text\xa2\xff\xfe"), "is damaged near byte"),
        (MAGIC + b"\xff\xff\xff\xff", "is damaged near byte"),
    ],
)
def test_what_is_no_recording_of_ours_is_refused_with_its_name(path, content, words):
    path.write_bytes(content)
    with pytest.raises(RecordingError, match=words) as caught:
        list(read_recording(path))
    assert str(path) in str(caught.value)
