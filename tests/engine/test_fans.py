"""Tasks that all read one result, and a task that reads theirs, on a real cluster: right results, whatever they read and do."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tasks
from glassloom import Client
from glassloom.errors import CancelledError

N = 40


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with Client(n_workers=2, threads_per_worker=2, set_as_default=False) as client:
        yield client


def add(left: int, right: int) -> int:
    return left + right


def append(values: list[int], number: int) -> list[int]:
    values.append(number)
    return values


def at(array: np.ndarray, number: int) -> float:
    return float(array[number])


def divide(number: int, *, by: int) -> float:
    return 12 / (number - by)


def small_array(number: int, start: int) -> np.ndarray:
    return np.arange(start, start + number)


def fail_once(path: str, number: int) -> int:
    if number == 7:
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return number
        raise RuntimeError("once")
    return number


def test_a_fan_of_fans(client: Client) -> None:
    value = client.submit(add, 0, 1)
    for _ in range(3):
        value = client.submit(sum, client.map(add, [value] * N, range(N)))
    expected = 1
    for _ in range(3):
        expected = expected * N + N * (N - 1) // 2
    assert value.result(timeout=60) == expected


def test_a_value_that_tasks_change_is_each_tasks_own(client: Client) -> None:
    shared = client.scatter([100])
    assert client.gather(client.map(append, [shared] * N, range(N))) == [[100, number] for number in range(N)]


def test_a_result_that_stays_on_its_worker_is_read_everywhere(client: Client) -> None:
    array = client.submit(np.arange, 100_000, pure=False)
    middle = client.map(at, [array] * N, range(N))
    assert client.submit(sum, middle).result(timeout=60) == N * (N - 1) / 2
    more = client.map(at, [array] * N, range(N, 2 * N))  # by now every process can reach it
    assert client.gather(more) == [float(number) for number in range(N, 2 * N)]


@pytest.mark.parametrize("n_elements", [4, 60, 10_000], ids=["inline", "written to files", "on workers"])
def test_results_of_any_size_are_read_together(client: Client, n_elements: int) -> None:
    source = client.submit(add, 1, 1, pure=False)
    middle = client.map(small_array, [n_elements] * N, [source] * N, pure=False)
    assert client.submit(len, middle).result(timeout=60) == N
    expected = N * sum(range(2, 2 + n_elements))
    assert client.submit(_sum_arrays, middle).result(timeout=60) == expected


def _sum_arrays(arrays: list[np.ndarray]) -> int:
    return int(sum(array.sum() for array in arrays))


def test_a_keyword_argument_that_is_a_future(client: Client) -> None:
    seven = client.submit(add, 3, 4)
    numbers = [number for number in range(N) if number != 7]
    assert client.gather(client.map(divide, numbers, by=seven)) == [12 / (number - 7) for number in numbers]


def test_one_failing_task_fails_what_reads_it_and_no_other(client: Client) -> None:
    seven = client.submit(add, 3, 4)
    middle = client.map(divide, range(N), by=seven)
    total = client.submit(sum, middle)
    with pytest.raises(ZeroDivisionError):
        total.result(timeout=60)
    rest = client.submit(sum, [future for future in middle if future is not middle[7]])
    assert rest.result(timeout=60) == pytest.approx(sum(12 / (number - 7) for number in range(N) if number != 7))


def test_a_failing_task_is_tried_again(client: Client, tmp_path: Path) -> None:
    path = client.submit(str, tmp_path / "once", pure=False)
    middle = client.map(fail_once, [path] * N, range(N), retries=1)
    assert client.submit(sum, middle).result(timeout=60) == N * (N - 1) // 2


def test_cancelled_tasks_are_computed_again(client: Client) -> None:
    source = client.submit(add, 5, 5)
    middle: list[Any] = client.map(add, [source] * N, range(1000, 1000 + N))
    total = client.submit(sum, middle)
    client.cancel(middle[3])
    with suppress(CancelledError):  # it may have been there before
        total.result(timeout=60)
    again = client.submit(sum, client.map(add, [source] * N, range(1000, 1000 + N)))
    assert again.result(timeout=60) == sum(range(1010, 1010 + N))


def test_readers_of_parts_and_of_single_results(client: Client) -> None:
    source = client.submit(add, 0, 0)
    middle = client.map(add, [source] * N, range(N))
    parts = [client.submit(sum, middle[start : start + 10]) for start in range(0, N, 10)]
    one = client.submit(add, middle[5], 100)
    backward = client.submit(list, middle[::-1])
    del middle
    assert client.gather(parts) == [sum(range(start, start + 10)) for start in range(0, N, 10)]
    assert (one.result(timeout=60), backward.result(timeout=60)) == (105, list(range(N))[::-1])


def test_where_a_fan_waits_can_be_asked(client: Client, tmp_path: Path) -> None:
    source = client.submit(tasks.wait_for, str(tmp_path / "go"), 0, pure=False)
    middle = client.map(add, [source] * N, range(N))
    total = client.submit(sum, middle)
    text = str(client.story(total))
    assert f"waits for {N} of {N} inputs" in text
    (tmp_path / "go").touch()
    assert total.result(timeout=60) == N * (N - 1) // 2
