"""`Story`: what has happened to a task, and what it waits for; and the client's question for it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from glassloom.client.base import ClientBase
from glassloom.client.blocking import Operation
from glassloom.client.future import Future
from glassloom.client.validation import check_key
from glassloom.errors import OptionError
from glassloom.graph import Key, key_text
from glassloom.protocol import messages
from glassloom.protocol.failure import first_line
from glassloom.reprs import render

_TONES = {"finished": "ok", "running": "busy", "staging": "busy", "error": "error", "unknown": "warn"}
_UNDER_WAY = frozenset(["waiting", "ready", "staging", "running"])
_STATUS = {"memory": "finished", "erred": "error"}


@dataclass(frozen=True)
class StoryEvent:
    """Something that happened to a task.

    Attributes
    ----------
    at
        When, in local time.
    what
        A word for it: ``"submitted"``, ``"sent"`` (to a worker), ``"ran"``, ``"raised"``, ``"moved"`` (its result was put
        where all processes can reach it), ``"spilled"``, ``"returned"`` (by a worker that hadn't begun it), ``"seceded"``,
        ``"rejoined"``, ``"lost"`` (its result), ``"worker lost"``, ``"cancelled"`` or ``"retried"``.
    text
        A sentence for people.
    worker
        The worker's name, ``""`` if there was none.
    """

    at: datetime
    what: str
    text: str
    worker: str = ""


@dataclass(frozen=True, repr=False)
class Story:
    """What has happened to a task, and what it waits for now. Made by `Client.story`.

    Attributes
    ----------
    key
        The task's.
    state
        ``"waiting"`` (for inputs), ``"ready"`` (for a worker), ``"staging"`` (for inputs to become readable on its worker),
        ``"running"``, ``"finished"``, ``"error"``, ``"released"`` (nobody needs its result now), or ``"unknown"``.
    explanation
        One sentence: why it waits, where it runs, or what became of it.
    origin
        The user's line that built the task, or ``""``.
    events
        What is still known of what has happened to it, oldest first. The cluster keeps the latest events of all tasks only.
    events_since
        When the oldest events of those began; None: nothing was dropped yet.
    """

    key: Key
    state: str
    explanation: str
    origin: str
    events: tuple[StoryEvent, ...]
    events_since: datetime | None

    def __repr__(self) -> str:
        lines = [f"Task {key_text(self.key)}: {self.state}", f"  {self.explanation}"]
        if self.origin:
            lines.append(f"  built at {self.origin}")
        if self.events_since is not None:
            lines.append(f"  (what happened before {_clock(self.events_since)} isn't all known any more)")
        return "\n".join([*lines, *map(_line, self.events)])

    def _repr_html_(self) -> str:
        return render(
            "story.html.j2",
            key=key_text(self.key),
            state=self.state,
            tone=_TONES.get(self.state, ""),
            may_change=self.state in _UNDER_WAY,
            explanation=self.explanation,
            origin=self.origin,
            since=None if self.events_since is None else _clock(self.events_since),
            rows=[(_clock(event.at), event.worker, event.text) for event in self.events],
        )


class StoryMethods(ClientBase):
    """The part of a client that asks about single tasks."""

    def story(self, key: Future | Key) -> Any:
        """Return what has happened to a task, and in one sentence what it waits for now.

        Parameters
        ----------
        key
            A future, or a task's key.

        Returns
        -------
        Story
            Shown as text in a terminal and as a table in a notebook.

        Examples
        --------
        >>> from glassloom import Client
        >>> with Client(n_workers=1, threads_per_worker=1) as client:
        ...     future = client.submit(abs, -1, key="positive")
        ...     future.result()
        ...     client.story(future).explanation
        1
        "done: its result (32 B) is in the head's memory"
        """
        if isinstance(key, Future):
            return self._run(self._story_of_future(key))
        if not isinstance(key, (str, tuple)):
            raise OptionError(f"key={key!r} should be one future, or the key of one task")
        check_key(key)
        return self._run(self._story(key))

    def _story_of_future(self, future: Future) -> Operation[Story]:
        """Return the story of a future's task; if the cluster knows nothing of it, what this client knows of the future."""
        story = yield from self._story(future.key)
        failure = future._state.failure
        if story.state != "unknown" or story.events or future.status != "error" or failure is None:
            return story
        return replace(story, state="error", explanation=f"failed: {first_line(failure)}", origin=failure.origin)

    def _story(self, key: Key) -> Operation[Story]:
        told: messages.Story = yield from self._connection.ask(
            lambda request: messages.GetStory(request, key), f"what happens to {key_text(key)}"
        )
        events = tuple(StoryEvent(_local(event.at_s), event.what, event.text, event.worker) for event in told.events)
        since = _local(told.forgotten_before_s) if told.forgotten_before_s else None
        return Story(key, _STATUS.get(told.state, told.state), told.explanation, told.origin, events, since)


def _line(event: StoryEvent) -> str:
    worker = f"{event.worker}: " if event.worker else ""
    return f"  {_clock(event.at)}  {worker}{event.text}"


def _local(at_s: float) -> datetime:
    return datetime.fromtimestamp(at_s).astimezone()


def _clock(at: datetime) -> str:
    return at.strftime("%H:%M:%S.%f")[:-3]
