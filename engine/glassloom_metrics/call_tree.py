"""`SampledStacks`: the statistical profile of a cluster, folded; by layer, worker and time window. It draws nothing."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable
from typing import Any

from glassloom_metrics.profile import OTHER, Profile, Stacks
from glassloom_metrics.protocol import Layers, Message

Frame = tuple[str, str, int]
"""Name of a function, its file, and the line that ran."""

UNKNOWN_STACK: tuple[Frame, ...] = (("(other)", "", 0),)
"""Of samples whose stack isn't told, or was told too long ago."""


class SampledStacks:
    """What the messages `Stacks`, `Profile` and `Layers` say.

    Parameters
    ----------
    start_s, stop_s
        Windows that are wholly outside are left out; None: no bound.
    workers
        Only these, by number; None: all. It may grow as they join.
    """

    def __init__(
        self, start_s: float | None = None, stop_s: float | None = None, workers: Collection[int] | None = None
    ) -> None:
        self._start_s, self._stop_s = start_s, stop_s
        self._workers = workers
        self._stacks: dict[int, tuple[int, Frame]] = {}
        self._layers: dict[int, str] = {}
        self._sums: dict[tuple[int, int], list[float]] = {}

    def apply(self, message: Message) -> None:
        """Take a message into account; those of other types say nothing here."""
        match message:
            case Stacks():
                frames = zip(message.functions, message.files, message.lines, strict=True)
                self._stacks.update(zip(message.ids, zip(message.parents, frames, strict=True), strict=True))
            case Layers():
                self._layers.update(zip(message.ids, message.names, strict=True))
            case Profile() if self._is_wanted(message):
                rows = (message.workers, message.layers, message.stacks, message.samples, message.seconds)
                for worker, layer, stack, samples, seconds in zip(*rows, strict=True):
                    if (self._workers is None or worker in self._workers) and 0 <= seconds < math.inf:
                        sums = self._sums.setdefault((layer, stack), [0, 0.0])
                        sums[0] += samples
                        sums[1] += seconds

    def _is_wanted(self, message: Profile) -> bool:
        is_early = self._start_s is not None and message.stop_s < self._start_s
        return not is_early and (self._stop_s is None or message.start_s <= self._stop_s)

    def rows(
        self, wanted: Callable[[str], bool] = lambda layer: True
    ) -> list[tuple[str, tuple[Frame, ...], int, float]]:
        """Return name of the layer, stack (outermost frame first), number of samples and seconds, for the layers wanted."""
        found = []
        for (layer, stack), (samples, seconds) in self._sums.items():
            name = self._layers.get(layer, "(unknown)" if layer < 0 else f"layer {layer}")
            if wanted(name):
                found.append((name, self._frames(stack), int(samples), seconds))
        return found

    def _frames(self, stack: int) -> tuple[Frame, ...]:
        frames: list[Frame] = []
        while stack != OTHER:
            if stack not in self._stacks or len(frames) > _MAX_FRAMES:  # of a damaged recording: it may go round
                return UNKNOWN_STACK
            stack, frame = self._stacks[stack]
            frames.append(frame)
        return tuple(reversed(frames)) or UNKNOWN_STACK

    def tree(self, wanted: Callable[[str], bool] = lambda layer: True) -> dict[str, Any]:
        """Return the call tree: see `Client.profile`."""
        root = _node("root", "", 0)
        for _, stack, samples, seconds in self.rows(wanted):
            node = root
            _count(node, samples, seconds)
            for function, file, line in stack:
                name = f"{function};{file}"
                node = node["children"].setdefault(name, None) or _add(node, name, _node(function, file, line))
                _count(node, samples, seconds)
                of_line = node["lines"].setdefault(line, [0, 0.0])
                of_line[0] += samples
                of_line[1] += seconds
        return root


_MAX_FRAMES = 1000


def profile_of(messages: Iterable[Message]) -> SampledStacks:
    """Return the profile that is in a recording, or in other messages."""
    profile = SampledStacks()
    for message in messages:
        profile.apply(message)
    return profile


def _node(function: str, file: str, line: int) -> dict[str, Any]:
    description = {"name": function, "filename": file, "line_number": line}
    identifier = function if not file else f"{function};{file}"
    return {
        "identifier": identifier,
        "description": description,
        "count": 0,
        "seconds": 0.0,
        "lines": {},
        "children": {},
    }


def _add(node: dict[str, Any], name: str, child: dict[str, Any]) -> dict[str, Any]:
    node["children"][name] = child
    return child


def _count(node: dict[str, Any], samples: int, seconds: float) -> None:
    node["count"] += samples
    node["seconds"] += seconds
