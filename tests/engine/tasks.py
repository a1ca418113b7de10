"""Functions that tests run on workers, which import them from here."""

from __future__ import annotations

import asyncio
import ctypes
import os
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np


def inc(value: int) -> int:
    return value + 1


def add(left: Any, right: Any) -> Any:
    return left + right


def total(values: Any) -> Any:
    return sum(values)


def same(value: Any) -> Any:
    return value


def divide(numerator: float, denominator: float) -> float:
    return numerator / denominator


def big(megabytes: int, fill: float = 1.0) -> np.ndarray:
    return np.full(megabytes * 2**17, fill)


def fill(number: int) -> np.ndarray:
    return np.full(8192, number)


def first_of(arrays: list[np.ndarray]) -> int:
    """Return the sum of the arrays' first elements."""
    return int(sum(array[0] for array in arrays))


def mean(array: np.ndarray) -> float:
    return float(array.mean())


def wait_for(path: str, value: Any = None) -> Any:
    """Return `value` once a file is there."""
    while not os.path.exists(path):
        time.sleep(0.002)
    return value


def nap(duration_s: float, *_: Any) -> int:
    """Return the worker's pid after a while."""
    time.sleep(duration_s)
    return os.getpid()


def begin_and_wait(begun: str, go_on: str, value: Any = None) -> Any:
    """Say by a file that it has begun, holding its pid; return `value` once another file is there."""
    draft = Path(f"{begun}.part")
    draft.write_text(str(os.getpid()))
    draft.rename(begun)
    return wait_for(go_on, value)


def count_run(path: str, value: Any = None) -> Any:
    """Add a byte to a file."""
    with open(path, "a") as file:
        file.write("x")
    return value


def fail_until(path: str, n_failures: int) -> int:
    """Raise the first times; return how often it was called."""
    count_run(path)
    n_calls = os.path.getsize(path)
    if n_calls <= n_failures:
        raise ValueError(f"call {n_calls}")
    return n_calls


def leave() -> None:
    os._exit(7)


def crash() -> None:
    ctypes.string_at(0)


def kill_own_worker_once(path: str, value: Any) -> Any:
    if not os.path.exists(path):
        Path(path).touch()
        os._exit(9)
    return value


async def increment_later(x: int) -> int:
    await asyncio.sleep(0)
    return x + 1


def where() -> tuple[int, str]:
    """Return the process and the thread that this runs in."""
    return os.getpid(), threading.current_thread().name


def combine(number: int, *inputs: int) -> int:
    return (number + 3 * sum(inputs)) % 1_000_003
