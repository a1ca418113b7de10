"""Recorded NVML sessions: what NVML answered, and when, as a file of JSON lines. `docs/nvml-sessions.md` is the format.

`RecordingNvml` writes down what `pynvml` answers, `ReplayedNvml` answers the same. Both present themselves as that module, so
that the sampler is the same with a device, with a recording of one, and with a simulated one.

``python -m glassloom.sampling.nvml_session record gpus.jsonl`` records the GPUs of this machine.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import math
import sys
import threading
import time
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TextIO

from glassloom.sampling.nvml import VALUE_FIELDS, NvmlSampler, NvmlUnavailable, load_nvml

FORMAT = 1
SLOW_S = 0.5
"""An answer that took so long is written down with its time."""
_PERIOD_S = 1.0
_LOOK_AGAIN_S = 60.0


class SessionError(ValueError):
    """A file is no recorded session, or one that can't be read; the message says where."""


class NotRecorded(Exception):
    """A call that isn't in the session."""


@dataclass(frozen=True)
class Handle:
    """What stands for a device in a session."""

    number: int


@dataclass(frozen=True)
class Answer:
    """One line of a session: at a time, since its start, NVML answered a call so.

    ``outcome`` is one of ``{"value": ...}``, ``{"error": NVML's code}`` and ``{"raises": text}``. ``took_s`` is how long that took:
    None if it never came.
    """

    at_s: float
    call: str
    args: tuple[Any, ...]
    outcome: Mapping[str, Any]
    took_s: float | None = 0.0

    @property
    def key(self) -> str:
        """What tells calls apart: the function and its arguments."""
        return key_of(self.call, self.args)

    def as_json(self) -> dict[str, Any]:
        """Return the line's content."""
        slow = {"took_s": self.took_s} if self.took_s is None or self.took_s >= SLOW_S else {}
        return {"at_s": round(self.at_s, 4), "call": self.call, "args": list(self.args), **self.outcome, **slow}


def key_of(call: str, args: Sequence[Any]) -> str:
    """Return what tells calls apart; arguments are as in the file."""
    return f"{call}{json.dumps(list(args), sort_keys=True)}"


@dataclass
class Session:
    """A recorded session: facts about it, and all answers in the order of time."""

    header: dict[str, Any]
    answers: list[Answer] = field(default_factory=list)
    length_s: float = 0.0

    def write(self, path: str | Path) -> None:
        """Write it to a file."""
        with open(path, "w", encoding="utf-8") as file:
            writer = SessionWriter(file, self.header)
            for answer in self.answers:
                writer.write(answer)
            writer.end(self.length_s)


class SessionWriter:
    """Writes a session line by line, so that what was written is whole if the recorder is killed."""

    def __init__(self, file: TextIO, header: Mapping[str, Any]) -> None:
        self._file = file
        self._line({"nvml_session": FORMAT, **header})

    def write(self, answer: Answer) -> None:
        """Add an answer."""
        self._line(answer.as_json())

    def end(self, at_s: float) -> None:
        """Say how long the session was."""
        self._line({"at_s": round(at_s, 4), "end": True})
        self._file.flush()

    def _line(self, content: Mapping[str, Any]) -> None:
        self._file.write(json.dumps(content, separators=(",", ":"), allow_nan=False) + "\n")


def read_session(path: str | Path) -> Session:
    """Return a session; one that was cut within its last line is read up to there.

    Raises
    ------
    SessionError
        If the file is none, or damaged.
    OSError
        If it can't be read.
    """
    lines = Path(path).read_bytes().split(b"\n")
    session: Session | None = None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            content = json.loads(line)
            if session is None:
                session = Session(_checked_header(content))
            elif content.get("end"):
                session.length_s = float(content["at_s"])
            else:
                session.answers.append(_answer(content))
                session.length_s = max(session.length_s, session.answers[-1].at_s)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            if session is not None and number == len(lines):
                break  # the recorder was killed within a line
            raise SessionError(f"{path}, line {number}: {type(error).__name__}: {error}") from error
    if session is None:
        raise SessionError(f"{path} is empty")
    session.answers.sort(key=lambda answer: answer.at_s)
    return session


def _checked_header(content: Any) -> dict[str, Any]:
    if not isinstance(content, dict) or content.get("nvml_session") != FORMAT:
        raise ValueError(f"this is no NVML session of format {FORMAT}")
    return {name: value for name, value in content.items() if name != "nvml_session"}


def _answer(content: dict[str, Any]) -> Answer:
    outcome: dict[str, Any] = {name: content[name] for name in ("value", "error", "raises") if name in content}
    took_s = content.get("took_s", 0.0)
    at_s = float(content["at_s"])
    if len(outcome) > 1 or (not outcome and took_s is not None) or not math.isfinite(at_s):
        raise ValueError("an answer is one of value, error and raises, at a time")
    if not isinstance(content["call"], str) or not isinstance(content["args"], list):
        raise ValueError("a call has a name and a list of arguments")
    return Answer(at_s, content["call"], tuple(content["args"]), outcome, took_s)


# Values


def decoded(value: Any) -> Any:
    """Return a value of a file as NVML's binding would: handles, and objects with fields."""
    if isinstance(value, list):
        return [decoded(one) for one in value]
    if isinstance(value, dict):
        if value.keys() == {"handle"}:
            return Handle(value["handle"])
        return SimpleNamespace(**{name: decoded(one) for name, one in value["fields"].items()})
    return value


class _Encoder:
    """Turns what NVML's binding returns into what a file holds, and numbers the handles."""

    def __init__(self) -> None:
        self._handles: dict[int, int] = {}

    def encoded(self, value: Any) -> Any:
        """Return a value for the file."""
        if value is None or isinstance(value, (bool, int, str)):
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else None
        if isinstance(value, bytes):
            return value.decode(errors="replace")
        if isinstance(value, (list, tuple, ctypes.Array)):
            return [self.encoded(one) for one in value]
        if isinstance(value, Handle):
            return {"handle": value.number}
        if isinstance(value, ctypes._Pointer):
            address = ctypes.cast(value, ctypes.c_void_p).value or 0
            return {"handle": self._handles.setdefault(address, len(self._handles))}
        return {"fields": {name: self.encoded(one) for name, one in _fields(value)}}


_UNUSED_FIELDS = ("timestamp", "latencyUsec")


def _fields(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the fields of a structure; of a field value's union only the one that holds the value."""
    if isinstance(value, ctypes.Structure):
        for name, *_ in value._fields_:
            one = getattr(value, name)
            if isinstance(one, ctypes.Union):
                used = VALUE_FIELDS.get(value.valueType, "ullVal")
                one = SimpleNamespace(**{used: getattr(one, used)})
            if name not in _UNUSED_FIELDS:
                yield name, one
    else:
        yield from vars(value).items()


# Recording


def _is_function(name: str, value: Any) -> bool:
    return name.startswith("nvml") and callable(value) and not isinstance(value, type)


class RecordingNvml:
    """The module `pynvml` whose answers are written down, but for those that are as the last time.

    Parameters
    ----------
    nvml
        The module, or a simulated one.
    keep
        Called with each answer that is new.
    clock
        Returns the seconds since the session's start.
    """

    def __init__(self, nvml: Any, keep: Callable[[Answer], None], clock: Callable[[], float]) -> None:
        self._nvml = nvml
        self._keep = keep
        self._clock = clock
        self._encoder = _Encoder()
        self._last: dict[str, Mapping[str, Any]] = {}

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._nvml, name)
        return partial(self._call, name, value) if _is_function(name, value) else value

    def _call(self, name: str, function: Callable[..., Any], *args: Any, **options: Any) -> Any:
        began_s = self._clock()
        try:
            value = function(*args, **options)
        except Exception as error:  # it is written down, and goes on to who has called
            self._note(began_s, name, args, options, self._failure(error))
            raise
        self._note(began_s, name, args, options, {"value": self._encoder.encoded(value)})
        return value

    def _failure(self, error: Exception) -> dict[str, Any]:
        code = getattr(error, "value", None)
        if isinstance(error, self._nvml.NVMLError) and isinstance(code, int):
            return {"error": code}
        return {"raises": f"{type(error).__name__}: {error}"}

    def _note(
        self, began_s: float, name: str, args: tuple[Any, ...], options: Mapping[str, Any], outcome: Mapping[str, Any]
    ) -> None:
        encoded = _arguments(self._encoder.encoded(args), options)
        answer = Answer(began_s, name, encoded, outcome, self._clock() - began_s)
        is_slow = answer.took_s is not None and answer.took_s >= SLOW_S
        known = {**outcome, "is_slow": is_slow}
        if self._last.get(answer.key) != known:
            self._last[answer.key] = known
            self._keep(answer)


def _arguments(args: Iterable[Any], options: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return arguments as a file has them: those by name come last, as one map."""
    return (*args, *([dict(options)] if options else []))


def record(
    nvml: Any, sampler_clock: Callable[[], float], keep: Callable[[Answer], None], rounds: Iterator[float]
) -> None:
    """Drive the sampler at these times since the session's start, and keep what NVML answers.

    Raises
    ------
    NvmlUnavailable
        If there is nothing to record; what was asked is kept all the same.
    """
    sampler = NvmlSampler(RecordingNvml(nvml, keep, sampler_clock))
    sampler.begin()
    refreshed_s = -math.inf
    for at_s in rounds:
        if at_s - refreshed_s >= _LOOK_AGAIN_S:
            sampler.refresh(at_s)
            refreshed_s = at_s
        _, processes = sampler.sample(at_s)
        for pid in processes.pids:
            sampler.process_name(pid)


# Replaying


class ReplayedNvml:
    """A recorded session that presents itself as the module `pynvml`. Constants and error classes are that module's.

    A call gets the last answer until now; before the first one it gets that.

    Parameters
    ----------
    session
        What NVML answered.
    clock
        Returns the seconds since the session's start; None: the clock that runs from now on.
    wait
        Called with the seconds that an answer took, and with None for one that never came.
    repeat
        Begin again when the session is over; else its last answers stay.
    """

    def __init__(
        self,
        session: Session,
        *,
        clock: Callable[[], float] | None = None,
        wait: Callable[[float | None], None] | None = None,
        repeat: bool = False,
    ) -> None:
        started_s = time.monotonic()
        self._pynvml = load_nvml()
        self._clock = clock or (lambda: time.monotonic() - started_s)
        self._wait = wait or _wait
        self._length_s = session.length_s if repeat else math.inf
        self._encoder = _Encoder()
        self._calls = {answer.call for answer in session.answers}
        self._answers: dict[str, list[Answer]] = {}
        for answer in session.answers:
            self._answers.setdefault(answer.key, []).append(answer)

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._pynvml, name, None)
        if name in self._calls or _is_function(name, value):
            return partial(self._call, name)
        if value is None:
            raise AttributeError(f"pynvml has no {name!r}")
        return value

    def _call(self, name: str, *args: Any, **options: Any) -> Any:
        answers = self._answers.get(key_of(name, _arguments(self._encoder.encoded(args), options)))
        if not answers:
            raise NotRecorded(f"{name} was not called so in the recorded session")
        now_s = self._clock()
        if 0 < self._length_s < math.inf:
            now_s %= self._length_s
        answer = answers[max(bisect_right(answers, now_s, key=lambda one: one.at_s) - 1, 0)]
        if answer.took_s is None or answer.took_s >= SLOW_S:
            self._wait(answer.took_s)
        if "error" in answer.outcome:
            raise self._pynvml.NVMLError(answer.outcome["error"])
        if "raises" in answer.outcome:
            raise RuntimeError(answer.outcome["raises"])
        return decoded(answer.outcome.get("value"))


def _wait(took_s: float | None) -> None:
    threading.Event().wait(took_s)


# The command


def _live_rounds(seconds: float, clock: Callable[[], float]) -> Iterator[float]:
    """Yield the time once a second."""
    while (at_s := clock()) <= seconds:
        yield at_s
        time.sleep(max(_PERIOD_S - (clock() - at_s), 0.0))


def open_nvml(session: str | None) -> Any:
    """Return the module `pynvml`, or a recorded session in its place.

    Raises
    ------
    NvmlUnavailable
        If there is none.
    """
    if session is None:
        return load_nvml()
    try:
        return ReplayedNvml(read_session(session), repeat=True)
    except (OSError, SessionError) as error:
        raise NvmlUnavailable(f"The recorded NVML session can't be read: {error}") from error


def main(arguments: Sequence[str] | None = None) -> None:
    """Record the GPUs of this machine."""
    parser = argparse.ArgumentParser(prog="python -m glassloom.sampling.nvml_session", description=main.__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("record", help="write what NVML answers to a file")
    command.add_argument("file", help="such as gpus.jsonl; one that is there is replaced")
    command.add_argument("--seconds", type=float, default=60.0, help="how long (default: 60)")
    options = parser.parse_args(arguments)
    started_s = time.monotonic()
    counted: list[Answer] = []

    def clock() -> float:
        return time.monotonic() - started_s

    with open(options.file, "w", encoding="utf-8") as file:
        writer = SessionWriter(file, {"made_by": "recorder", "started_at_s": time.time()})

        def keep(answer: Answer) -> None:
            writer.write(answer)
            counted.append(answer)

        problem = ""
        try:
            record(load_nvml(), clock, keep, _live_rounds(options.seconds, clock))
        except KeyboardInterrupt:
            pass
        except NvmlUnavailable as error:
            problem = str(error)
        writer.end(clock())
    print(f"{options.file}: {len(counted):,} answers in {clock():.1f} s", file=sys.stderr)
    if problem:
        sys.exit(problem)


if __name__ == "__main__":
    main()
