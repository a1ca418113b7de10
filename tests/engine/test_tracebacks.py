"""What a task raises reaches the user with the user's frames only, on every runtime and by every way of waiting."""

from __future__ import annotations

import asyncio
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import glassloom as gl
import glassloom.array as ga
import glassloom.dataframe as gd
import pytest
from glassloom import Client, as_completed, config
from glassloom.protocol.tracebacks import drop_engine_frames

ENGINE = str(Path(gl.__file__).parent)


def divide(x: Any) -> Any:
    return x / 0 if isinstance(x, int) else _helper(x)


def _helper(block: Any) -> Any:
    raise ValueError(f"no blocks of shape {block.shape}")


def frames_of(cause: Callable[[], Any]) -> list[str]:
    """Return the functions in the traceback of what `cause` raises, outermost first; those of the engine with a slash."""
    try:
        cause()
    except (Exception, KeyboardInterrupt) as error:
        entries = traceback.extract_tb(error.__traceback__)[1:]
        return ["engine/" + entry.name if entry.filename.startswith(ENGINE) else entry.name for entry in entries]
    raise AssertionError("nothing was raised")


def compute_delayed() -> Any:
    return gl.delayed(divide)(1).compute()


def compute_array() -> Any:
    return (ga.ones((4, 4), chunks=2) + 1).map_blocks(divide, dtype=float).sum().compute()


def compute_frame() -> Any:
    return gd.from_dict({"x": [1, 2]}, npartitions=1).map_partitions(_raises_in_a_block, meta={"x": int}).compute()


def _raises_in_a_block(_block: Any) -> Any:
    with _block_of_with():
        raise AssertionError


@contextmanager
def _block_of_with() -> Iterator[None]:
    raise ValueError("before it begins")
    yield


@pytest.mark.parametrize(
    ("cause", "frames"),
    [
        (compute_delayed, ["compute_delayed", "divide"]),
        (compute_array, ["compute_array", "divide", "_helper"]),
        (compute_frame, ["compute_frame", "_raises_in_a_block", "_block_of_with"]),
    ],
)
def test_on_threads_only_frames_of_the_user_are_shown(cause: Callable[[], Any], frames: list[str]) -> None:
    assert frames_of(cause) == frames


def test_on_worker_processes_only_frames_of_the_user_are_shown(client: Client) -> None:
    def result() -> Any:
        return client.submit(divide, 2).result()

    def gather() -> Any:
        return client.gather([client.submit(divide, 3)])

    def complete() -> Any:
        return [value for _, value in as_completed([client.submit(divide, 4)], with_results=True)]

    def compute() -> Any:
        return client.compute(gl.delayed(divide)(5), sync=True)

    assert [frames_of(cause) for cause in (result, gather, complete, compute)] == [
        ["result", "divide"], ["gather", "divide"], ["complete", "<listcomp>", "divide"], ["compute", "divide"],
    ]  # fmt: skip


def test_what_is_awaited_shows_only_frames_of_the_user(client: Client) -> None:
    async def wait() -> Any:
        return await client.submit(divide, 6)

    assert frames_of(lambda: asyncio.run(wait()))[-2:] == ["wait", "divide"]


def test_the_engines_frames_are_shown_when_asked_for() -> None:
    with config.set({"tracebacks.show-engine": True}):
        frames = frames_of(compute_delayed)
    assert [frames[0], frames[-1]] == ["compute_delayed", "divide"]
    assert "engine/compute" in frames


def test_an_error_that_the_engine_raised_in_a_task_says_where() -> None:
    frames = frames_of(lambda: gl.delayed(ga.ones)((2,), chunks=((5,),)).compute())
    assert [frame.startswith("engine/") for frame in frames] == [False, True]


def test_other_errors_keep_their_frames() -> None:
    error = ValueError("not a task's")
    try:
        raise error
    except ValueError:
        before = error.__traceback__
        drop_engine_frames(error)
        assert error.__traceback__ is before


def test_ctrl_c_shows_the_users_frames_alone(client: Client) -> None:
    def gather_never() -> None:
        threading.Timer(0.2, signal.raise_signal, [signal.SIGINT]).start()
        client.gather(client.submit(time.sleep, 60, key="sleeps"))

    assert frames_of(gather_never) == ["gather_never"]
    client.cancel_all(force=True)
