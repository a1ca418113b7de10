"""The scheduler: a pure state machine. Events in, actions out; no I/O, no threads, no clock of its own.

`Scheduler` is built in layers, each of which knows only those before it: `books` (what is known), `letting_go`,
`queueing` (where a ready task waits), `placement` (who runs it, and when), `course` (from state to state), `core` (events).
"""

from glassloom.scheduler.actions import Actions
from glassloom.scheduler.adaptive import Adaptive
from glassloom.scheduler.core import Scheduler
from glassloom.scheduler.order import order
from glassloom.scheduler.placement import MAX_QUEUED
from glassloom.scheduler.restrictions import Restrictions
from glassloom.scheduler.state import Layer, Pressure, State, TaskState, WorkerState

__all__ = [
    "MAX_QUEUED",
    "Actions",
    "Adaptive",
    "Restrictions",
    "Layer",
    "Pressure",
    "Scheduler",
    "State",
    "TaskState",
    "WorkerState",
    "order",
]
