"""The scheduler: a pure state machine. Events in, actions out; no I/O, no threads, no clock of its own."""

from glassloom.scheduler.actions import Actions
from glassloom.scheduler.adaptive import Adaptive
from glassloom.scheduler.core import MAX_QUEUED, Scheduler
from glassloom.scheduler.demand import Demand
from glassloom.scheduler.order import order
from glassloom.scheduler.state import Layer, Pressure, State, TaskState, WorkerState

__all__ = [
    "MAX_QUEUED",
    "Actions",
    "Adaptive",
    "Demand",
    "Layer",
    "Pressure",
    "Scheduler",
    "State",
    "TaskState",
    "WorkerState",
    "order",
]
