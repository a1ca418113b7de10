"""Frames come out of a byte stream whole, however the stream is cut."""

from __future__ import annotations

import pytest
from glassloom_metrics import framing
from glassloom_metrics.framing import FrameError, FrameSplitter, frame
from hypothesis import given
from hypothesis import strategies as st


@given(st.lists(st.binary(max_size=50), max_size=20), st.lists(st.integers(1, 30), min_size=1, max_size=40))
def test_frames_survive_any_cutting(payloads, cuts):
    stream = b"".join(map(frame, payloads))
    splitter, got, turn = FrameSplitter(), [], 0
    while stream:
        size = cuts[turn % len(cuts)]
        part, stream = stream[:size], stream[size:]
        got += splitter.feed(part)
        turn += 1
    assert got == payloads


def test_a_length_over_the_limit_is_an_error_at_once():
    splitter = FrameSplitter(max_frame_bytes=10)
    assert splitter.feed(frame(b"x" * 10)) == [b"x" * 10]
    with pytest.raises(FrameError, match="a frame of 11 bytes is over the limit of 10"):
        splitter.feed(b"\x0b\x00\x00\x00")


def test_a_payload_over_the_limit_is_not_framed(monkeypatch):
    monkeypatch.setattr(framing, "MAX_FRAME_BYTES", 4)
    with pytest.raises(FrameError, match="at most 4 bytes, got 5"):
        frame(b"12345")
