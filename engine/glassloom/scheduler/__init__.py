"""The scheduler: a pure state machine. Events in, actions out; no I/O, no threads, no clock of its own.

`core` takes events. It is composed of `tables` (what is known: tasks, layers, clients, workers), `submissions` (what clients hand
in), `ready_queues` (where a ready task waits), `block_index` and `block_table` (tasks that are alike and need no object each),
`block_readers` (tasks that read many of those), `transitions` (the one table of state changes, and what follows from each),
`placement` (which worker runs what, and when) and `fairness` (whose turn it is).
"""

from glassloom.scheduler.actions import Actions
from glassloom.scheduler.adaptive import Adaptive
from glassloom.scheduler.block_index import Standing
from glassloom.scheduler.core import Scheduler
from glassloom.scheduler.layers import DATA_LAYER, NO_RUN, Layer, RunCounts
from glassloom.scheduler.order import order
from glassloom.scheduler.restrictions import Restrictions
from glassloom.scheduler.state import LOSSES_ALLOWED, MAX_QUEUED, NO_ROW, NO_WORKER, TaskState, WorkerState
from glassloom.scheduler.states import Pressure, State
from glassloom.scheduler.task_block import MIN_TASKS, TaskSlice

__all__ = [
    "DATA_LAYER",
    "LOSSES_ALLOWED",
    "MAX_QUEUED",
    "MIN_TASKS",
    "NO_ROW",
    "NO_RUN",
    "NO_WORKER",
    "Actions",
    "Adaptive",
    "Layer",
    "Pressure",
    "Restrictions",
    "RunCounts",
    "Scheduler",
    "Standing",
    "State",
    "TaskSlice",
    "TaskState",
    "WorkerState",
    "order",
]
