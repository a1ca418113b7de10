"""How tasks are to be treated: in what order, where, and what if they fail. `annotate` says it for a block of code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

from glassloom._names import checked_name
from glassloom.errors import OptionError
from glassloom.protocol.options import checked_resources


@dataclass(frozen=True)
class Annotations:
    """What `annotate` sets, for the tasks of one graph."""

    priority: int = 0
    retries: int = 0
    resources: tuple[tuple[str, float], ...] = ()
    """Amounts by name."""
    workers: tuple[int | str, ...] = ()
    allow_other_workers: bool = False


_AS_USUAL = Annotations()
_current: ContextVar[Annotations] = ContextVar("handling", default=_AS_USUAL)


@contextmanager
def annotate(
    *,
    priority: int | None = None,
    retries: int | None = None,
    resources: Mapping[str, float] | None = None,
    workers: int | str | Sequence[int | str] | None = None,
    allow_other_workers: bool | None = None,
) -> Iterator[None]:
    """Say how the tasks are to be treated that are started inside the block.

    That is what `compute()`, `persist()`, `Client.submit` and `Client.map` hand in there, whenever it was written down; all
    tasks of a graph are treated alike. What the block doesn't set is as outside. Tasks that a cluster knows already stay
    as they are. Without a client, only `priority` and `retries` count.

    Parameters
    ----------
    priority
        Larger goes first; 0 by default, may be negative.
    retries
        How often to try a task again if it raises.
    resources
        What each task takes up of its worker's resources while it runs, such as ``{"GPU": 1}``. Workers have those
        that `LocalCluster` was started with.
    workers
        Numbers or names of the workers that may run the tasks.
    allow_other_workers
        Whether others may run them while none of `workers` is there.

    Raises
    ------
    OptionError
        If a value can't be what it is.

    Examples
    --------
    >>> import glassloom as gl
    >>> with gl.annotate(priority=5, retries=2):
    ...     gl.delayed(sum)([1, 2]).compute()
    3
    """
    token = _current.set(
        current_annotations(
            priority=priority,
            retries=retries,
            resources=resources,
            workers=workers,
            allow_other_workers=allow_other_workers,
        )
    )
    try:
        yield
    finally:
        _current.reset(token)


def current_annotations(
    *,
    priority: int | None = None,
    retries: int | None = None,
    resources: Mapping[str, float] | None = None,
    workers: int | str | Sequence[int | str] | None = None,
    allow_other_workers: bool | None = None,
) -> Annotations:
    """Return how tasks are treated that are started here: as the block says, but for what is given."""
    if priority is retries is resources is workers is allow_other_workers is None:
        return _current.get()  # as most calls
    changes: dict[str, Any] = {}
    if priority is not None:
        check_whole_number("priority", priority)
        changes["priority"] = priority
    if retries is not None:
        check_whole_number("retries", retries, least=0)
        changes["retries"] = retries
    if resources is not None:
        changes["resources"] = tuple(checked_resources(resources).items())
    if workers is not None:
        changes["workers"] = _checked_workers(workers)
    if allow_other_workers is not None:
        changes["allow_other_workers"] = bool(allow_other_workers)
    handling = replace(_current.get(), **changes) if changes else _current.get()
    if allow_other_workers and not handling.workers:
        raise OptionError("allow_other_workers=True says something only together with workers=")
    return handling


def _checked_workers(workers: Any) -> tuple[int | str, ...]:
    if isinstance(workers, (int, str)):
        workers = (workers,)
    if not isinstance(workers, (list, tuple, set, frozenset)) or not all(map(_is_worker, workers)):
        raise OptionError(f"workers={workers!r} should be numbers or names of workers")
    return tuple([worker if isinstance(worker, int) else checked_name("workers", worker) for worker in workers])


def _is_worker(worker: Any) -> bool:
    return isinstance(worker, str) or type(worker) is int


def check_whole_number(name: str, value: Any, least: int = -(2**31)) -> None:
    """Raise `OptionError` unless the value of an option is a whole number, not smaller than `least`."""
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value < 2**31:
        raise OptionError(f"{name}={value!r} should be a whole number" + (f", {least} or more" if least >= 0 else ""))
