"""`CallStackMethods`: which tasks the workers are at, and where in their code those are."""

from __future__ import annotations

import linecache
from collections.abc import Iterable, Mapping, Set
from datetime import timedelta
from typing import Any

from glassloom import config
from glassloom.client.base import ClientBase
from glassloom.client.blocking import Operation
from glassloom.client.deadline import Deadline
from glassloom.client.future import futures_of
from glassloom.client.head_watch import describe_process
from glassloom.client.introspection import chosen_workers
from glassloom.client.validation import check_key
from glassloom.graph import Key, key_text
from glassloom.protocol import messages
from glassloom.store.pickling import dumps, loads
from glassloom.units import parse_seconds
from glassloom.worker.call_stacks import Frame, running_stacks

Stack = tuple[str, ...]
"""Frames, outermost first, as Python prints them."""


class CallStacks(dict[str, dict[Key, Stack]]):
    """The stacks of running tasks: by worker's name, then by task's key. Prints like tracebacks.

    Parameters
    ----------
    stacks
        What the dict holds.
    asked_for
        The only tasks that were asked for; None: all that run.
    """

    def __init__(self, stacks: Mapping[str, dict[Key, Stack]], asked_for: Set[Key] | None = None) -> None:
        super().__init__(stacks)
        self._asked_for = asked_for

    def __repr__(self) -> str:
        lines = []
        for worker, stacks in self.items():
            for key, stack in stacks.items():
                lines += [f"Task {key_text(key)} on {worker}:", *stack]
        return "\n".join(lines) or self._nothing_runs()

    def _nothing_runs(self) -> str:
        if self._asked_for is None:
            return "No task runs."
        if len(self._asked_for) == 1:
            (text,) = map(key_text, self._asked_for)
            return f"Task {text} isn't running now; client.story({text}) tells how it stands."
        return f"None of these {len(self._asked_for)} tasks is running now; client.story(key) tells how a task stands."


class CallStackMethods(ClientBase):
    """The part of a client that looks at running tasks."""

    def processing(self, workers: Iterable[str] | None = None) -> Any:
        """Return, for each worker or those that are named, the keys of the tasks that it was sent and hasn't finished."""
        return self._run(self._processing(workers))

    def call_stack(
        self, futures: Any = None, keys: Any = None, *, timeout: float | str | timedelta | None = 10.0
    ) -> Any:
        """Return where running tasks are in their code: what to look at when a task doesn't end.

        The engine's own frames are left out, as in tracebacks: see the option ``tracebacks.show-engine``.

        Parameters
        ----------
        futures
            Futures, or persisted collections, alone or in a list: only these tasks.
        keys
            One key (text or a tuple), or a list of keys: only these tasks. With neither: all tasks that run.
        timeout
            How long workers may take to answer.

        Returns
        -------
        CallStacks
            A dict by worker's name of dicts by key; tasks that don't run are not in it.

        Raises
        ------
        TimeoutError
            If a worker doesn't answer in time: its process is stopped, or compiled code of a task holds Python's lock.

        Examples
        --------
        >>> from glassloom import Client
        >>> with Client(n_workers=1, threads_per_worker=1) as client:
        ...     client.call_stack()
        No task runs.
        """
        chosen: set[Key] | None = None
        if futures is not None or keys is not None:
            chosen = {future.key for future in futures_of(futures)} if futures is not None else set()
            chosen.update(_as_keys(keys))
        return self._run(self._call_stack(chosen, Deadline(parse_seconds("timeout", timeout))))

    def _processing(self, workers: Iterable[str] | None) -> Operation[dict[str, list[Key]]]:
        told = yield from self._what_runs()
        return chosen_workers({worker.worker: worker.keys for worker in told}, workers)

    def _what_runs(self) -> Operation[list[messages.WorkerTasks]]:
        told: messages.Processing = yield from self._connection.ask(messages.GetProcessing, "which tasks run")
        return told.workers

    def _call_stack(self, chosen: set[Key] | None, deadline: Deadline) -> Operation[CallStacks]:
        before = yield from self._what_runs()
        asked = [worker for worker in before if worker.keys and (chosen is None or chosen.intersection(worker.keys))]
        call = dumps((running_stacks, (config.get("tracebacks.show-engine"),), {}))
        questions = [
            lambda request, number=worker.number: messages.RunOnWorkers(request, call, [number]) for worker in asked
        ]
        answers: list[messages.RanOnWorkers | None] = yield from self._connection.ask_all(questions, deadline)
        silent = [worker for worker, answer in zip(asked, answers, strict=True) if answer is None]
        if silent:
            raise TimeoutError(_silence(silent, deadline))
        after = yield from self._what_runs()  # what began meanwhile has a key too
        names = {
            number: key for worker in (*before, *after) for number, key in zip(worker.numbers, worker.keys, strict=True)
        }
        found: dict[str, dict[Key, Stack]] = {}
        for worker, answer in zip(asked, answers, strict=True):
            stacks = _read(answer)
            named = {names[number]: _as_text(frames) for number, frames in stacks.items() if number in names}
            found[worker.worker] = {key: stack for key, stack in named.items() if chosen is None or key in chosen}
        return CallStacks({worker: stacks for worker, stacks in found.items() if stacks}, chosen)


def _as_keys(keys: Any) -> Iterable[Key]:
    if keys is None:
        return ()
    listed = [keys] if isinstance(keys, (str, tuple)) else list(keys)
    for key in listed:
        check_key(key)
    return listed


def _read(answer: messages.RanOnWorkers | None) -> dict[int, list[Frame]]:
    """Return a worker's answer; nothing if it is gone by now."""
    for result in () if answer is None else answer.results:
        if isinstance(result, bytes):
            stacks: dict[int, list[Frame]] = loads(result)
            return stacks
    return {}


def _as_text(frames: list[Frame]) -> Stack:
    return tuple(_frame_text(*frame) for frame in frames)


def _frame_text(filename: str, line: int, name: str) -> str:
    if not filename:
        return f"  {name}"
    source = linecache.getline(filename, line).strip()  # here: a notebook's cells are known to its own process only
    return f'  File "{filename}", line {line}, in {name}' + (f"\n    {source}" if source else "")


def _silence(silent: list[messages.WorkerTasks], deadline: Deadline) -> str:
    """Return for people which workers haven't answered, and why that may be."""
    names = ", ".join(f"{worker.worker} ({describe_process(worker.pid)})" for worker in silent)
    return (
        f"no call stacks within {deadline.timeout_s:g} s from {names}: a worker can't answer while its process is stopped, or "
        "while compiled code of a task holds Python's global lock"
    )
