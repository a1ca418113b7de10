"""The errors of tasks that the scheduler gives up: from a kind and a task to what the user sees."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from glassloom.errors import DataLost, MemoryLimitExceeded, NoSuchWorker, SerialisationError, WorkerLost
from glassloom.graph.keys import key_text
from glassloom.protocol import failure
from glassloom.protocol.failure import Failure
from glassloom.scheduler import LOSSES_ALLOWED, TaskState


@dataclass(frozen=True)
class WorkerLoss:
    """How a worker ended."""

    reason: str
    exceeded_limit: bool = False


def make_error(kind: str, task: TaskState, last_loss: WorkerLoss) -> Failure:
    """Return the error of a task that the scheduler has given up, for a reason of `kind` (see `Scheduler`)."""
    key = key_text(task.key)
    errors = {
        "worker-lost": _blame(task, last_loss),
        "data-lost": DataLost(f"the value of {key} is gone, and it was not computed but handed in: scatter it again"),
        "lost-again": DataLost(
            f"the result of {key} couldn't be read {LOSSES_ALLOWED} times, each time after it had been made: something removes "
            "or damages its file"
        ),
        "pinned": SerialisationError(
            f"the result of {key} can't be sent to another process, and a task needs it together with another such "
            "result that lives elsewhere"
        ),
        "nowhere": NoSuchWorker(
            f"task {key} may run on workers {_named(task)} only, and none of them is there; client.scheduler_info() tells "
            "which are, and allow_other_workers=True lets others take their place"
        ),
    }
    return msgspec.structs.replace(failure.own_failure(errors[kind]), key=key, origin=task.origin)


def _named(task: TaskState) -> list[int | str]:
    return sorted(task.restrictions.workers, key=str) if task.restrictions is not None else []


def _blame(task: TaskState, last_loss: WorkerLoss) -> WorkerLost:
    text = (
        f"task {key_text(task.key)} was running on {task.n_deaths} workers when they died, so it isn't tried again. How "
        f"the last one ended: {last_loss.reason}"
    )
    if not last_loss.exceeded_limit:
        return WorkerLost(text)
    return MemoryLimitExceeded(
        f"{text}. Let it work on less at once (smaller chunks or partitions), or give each worker more memory "
        "(memory_limit) or fewer threads (threads_per_worker)"
    )
