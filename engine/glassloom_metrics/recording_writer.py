"""`RecordingWriter`: a cluster's frames, as a subscriber gets them, into a file. It connects to nothing.

What was written stays readable whatever happens to the writer: see `segments.py`.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path

from glassloom_metrics.errors import RecordingError
from glassloom_metrics.outputs import output_path
from glassloom_metrics.protocol import NOW, Dropped, Hello, Life, Position, decode_known, tag_of
from glassloom_metrics.segments import Segment, is_disk_full

WRITE_BYTES = 2**18
"""How much is written at once while a backlog comes in. Else all that there is is written with each `Position`."""
MAX_INDEXED = 2**20
"""For how many frames the footer says where they are: keeping that in mind takes 17 bytes a frame."""
_MAX_TOPICS = 255


class RecordingWriter:
    """Writes one recording. Not thread-safe.

    Parameters
    ----------
    path
        Of the file. It is made at once, for this user alone, and kept whatever follows.
    since
        Number of the frame to begin with: 1 for all that the log has, `protocol.NOW` for a snapshot and what follows.
    overwrite
        Whether a file that is there is replaced: once the cluster has said its first word, so that one that never answers costs
        nothing.

    Attributes
    ----------
    next, log_id
        Where to go on reading: see `protocol.Connect`.
    problem
        Why nothing is added any more, or why the file may lack something: a sentence for people, ``""`` if all is well.
    has_ended
        Whether the cluster has said that it ends.
    is_complete
        Whether all that the cluster had to say when it was asked last has been written.

    Raises
    ------
    FileExistsError
        If there is a file and `overwrite` is False, or something that is no regular file.
    OSError
        If the file can't be made.
    """

    def __init__(self, path: str | os.PathLike[str], *, since: int = 1, overwrite: bool = False) -> None:
        self.path = output_path(path)
        # A file of its own, which takes the other's place: who is still writing to that does no harm then.
        self._draft: Path | None = None
        if overwrite and self.path.exists():
            self._draft = self.path.with_name(f".recording-{secrets.token_hex(6)}.part")
        try:
            self._segment = Segment.create(self._draft or self.path, 1, [], replaces=False, max_indexed=MAX_INDEXED)
        except FileExistsError:
            words = "there is a file already: choose another name, or say overwrite=True"
            raise FileExistsError(f"can't record to {os.fspath(self.path)!r}: {words}") from None
        self.next = since
        self.log_id = ""
        self.problem = ""
        self.has_ended = False
        self.is_complete = False
        self._is_preamble = since == NOW
        self._is_counted = since != NOW
        self._topic_names: list[str] = []
        self._topics = bytearray()
        self._payloads: list[bytes] = []
        self._waiting_bytes = 0
        self._is_closed = False
        self._is_full = False

    @property
    def nbytes(self) -> int:
        """Size of the file."""
        return self._segment.nbytes

    def add(self, payload: bytes) -> None:
        """Take the next frame of the subscription. A full disk is said in `problem`; nothing raises.

        Raises
        ------
        RecordingError
            If the frame is the `Hello` of another log.
        """
        tag = tag_of(payload)
        if tag == "hello":
            self._greet(payload)
        elif tag == "position":
            self._note_position(payload)
        else:
            self._note(tag, payload)
            self._keep(tag, payload)

    def close(self) -> None:
        """Write what is waiting, and the footer."""
        if self._is_closed:
            return
        self._is_closed = True
        self.flush()
        self._segment.seal(self._topic_names)
        self._segment.close()
        if self._draft is not None:
            with contextlib.suppress(OSError):
                self._draft.unlink()

    def discard(self) -> None:
        """Remove the file, but not one that was to be replaced and wasn't. For one that is closed."""
        if self._draft is None:
            self.path.unlink(missing_ok=True)

    def flush(self) -> None:
        """Write what is waiting."""
        payloads, topics = self._payloads, self._topics
        self._payloads, self._topics, self._waiting_bytes = [], bytearray(), 0
        if not payloads or self._is_full:
            return
        try:
            if self._is_preamble:
                self._segment.append_preamble(payloads)
            else:
                self._segment.append(topics, payloads)
        except OSError as error:
            self._is_full = True
            why = "the disk is full" if is_disk_full(error) else "it can't be written to"
            self.fail(f"the recording {os.fspath(self.path)!r} ends early: {why} ({error.strerror})")

    def fail(self, problem: str) -> None:
        """Note why the file lacks something; the first reason counts."""
        self.problem = self.problem or problem

    def _greet(self, payload: bytes) -> None:
        hello = decode_known(payload)
        assert isinstance(hello, Hello), "it has that tag"
        if not self.log_id:
            self.log_id = hello.log_id
            self._write_hello(payload)
        elif hello.log_id != self.log_id:
            raise RecordingError(f"cluster {hello.cluster_name!r} has begun another log: the recording ends here")

    def _write_hello(self, payload: bytes) -> None:
        waits_for_snapshot, self._is_preamble = self._is_preamble, True
        self._payloads.append(payload)
        self.flush()
        self._is_preamble = waits_for_snapshot
        self._take_place()

    def _take_place(self) -> None:
        """Replace the file that was there."""
        if self._draft is None or self._is_full:
            return
        try:
            self._draft.replace(self.path)
        except OSError as error:
            self.fail(f"can't record to {os.fspath(self.path)!r}: {error.strerror}")
        else:
            self._draft = None

    def _note_position(self, payload: bytes) -> None:
        position = decode_known(payload)
        assert isinstance(position, Position), "it has that tag"
        if self._is_preamble:
            self._payloads.append(payload)  # says where the snapshot ends
        self.flush()
        if self._is_preamble:
            self._is_preamble = False
            self._segment.first = position.next
        self.next, self._is_counted = position.next, True
        self.is_complete = True

    def _note(self, tag: str, payload: bytes) -> None:
        """Keep count of the frames, so that a lost connection can be taken up where it broke off."""
        self.is_complete = False
        if tag == "dropped":
            dropped = decode_known(payload)
            assert isinstance(dropped, Dropped), "it has that tag"
            # A snapshot follows, which is no part of the log: how long it is, only the next position tells.
            self.next, self._is_counted = dropped.last + 1, False
        elif self._is_counted:
            self.next += 1
        if tag == "life":
            life = decode_known(payload)
            self.has_ended |= isinstance(life, Life) and life.event == "closing"

    def _keep(self, tag: str, payload: bytes) -> None:
        if tag not in self._topic_names and len(self._topic_names) < _MAX_TOPICS:
            self._topic_names.append(tag)
        self._topics.append(self._topic_names.index(tag) if tag in self._topic_names else 0)
        self._payloads.append(payload)
        self._waiting_bytes += len(payload)
        if self._waiting_bytes >= WRITE_BYTES:
            self.flush()
