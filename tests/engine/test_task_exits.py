"""A task may raise what ends a process: it must not end the user's."""

from __future__ import annotations

import sys

import pytest
from glassloom import Client, delayed
from glassloom.errors import RemoteError


def leave() -> None:
    sys.exit(3)


def test_a_task_that_exits_is_an_error_of_the_computation_on_threads() -> None:
    with pytest.raises(RemoteError, match="the task raised SystemExit: 3") as caught:
        delayed(leave)().compute(scheduler="threads")
    assert isinstance(caught.value.__cause__, SystemExit)
    assert "leave" in caught.value.__notes__[0]


def test_a_task_that_exits_is_an_error_of_the_computation_on_workers(shared_client: Client) -> None:
    with pytest.raises(RemoteError, match="the task raised SystemExit: 3"):
        shared_client.submit(leave).result(timeout=60)
    assert shared_client.submit(pow, 2, 3).result(timeout=60) == 8
