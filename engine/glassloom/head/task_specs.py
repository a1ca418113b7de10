"""`TaskSpecs`: what workers need to run the tasks of a submission, apart from inputs. Opaque to the scheduler."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

import msgspec

from glassloom.head.call_cache import PickledCall
from glassloom.protocol import messages


class TaskSpec(msgspec.Struct, frozen=True, gc=False):
    """What a worker needs to run a task, apart from its inputs.

    Attributes
    ----------
    call
        The pickled call that the task makes.
    literals
        The call's arguments that aren't results of other tasks, pickled.
    priority
        That of the graph; what the task submits itself goes before others of its priority.
    """

    call: PickledCall
    literals: bytes
    priority: int


class TaskSpecs(Sequence[TaskSpec]):
    """The specifications of the tasks of a submission, as columns: a `TaskSpec` is made when one is asked for.

    Parameters
    ----------
    calls
        The pickled calls that the tasks make.
    message
        What was submitted: of each task the position of its call, and the literals.
    """

    def __init__(self, calls: Sequence[PickledCall], message: messages.Submit) -> None:
        self.calls = calls
        self.positions = message.calls
        self.literals = message.literals
        self.priority = message.priority

    def __len__(self) -> int:
        return len(self.literals)

    @overload
    def __getitem__(self, at: int) -> TaskSpec: ...
    @overload
    def __getitem__(self, at: slice) -> list[TaskSpec]: ...
    def __getitem__(self, at: int | slice) -> TaskSpec | list[TaskSpec]:
        if isinstance(at, slice):
            return [self[position] for position in range(*at.indices(len(self)))]
        return TaskSpec(self.calls[self.positions[at]], self.literals[at], self.priority)
