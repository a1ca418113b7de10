"""Small results that the head holds: within a bound, right wherever they are, and gone when nothing wants them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
import tasks
from fault_helpers import eventually, kill_a_worker
from glassloom import Client
from glassloom.cluster import head_process
from glassloom.errors import DataLost
from glassloom.graph.keys import key_layer
from glassloom.head import inline_results
from glassloom.head.inline_results import InlineResults
from glassloom.protocol.identity import new_cluster_id
from glassloom.protocol.places import ClusterPlaces, make_places
from glassloom.scheduler import TaskState
from glassloom.scheduler.layers import Layer
from glassloom.store.packed_file import Packed, read_packed, write_packed
from glassloom.store.pickling import dumps
from glassloom.store.segment import read_location

RESULT_BYTES = 1000


@pytest.fixture
def places() -> Iterator[ClusterPlaces]:
    made = make_places(new_cluster_id())
    yield made
    made.remove()


@pytest.fixture
def held(places: ClusterPlaces, monkeypatch: pytest.MonkeyPatch) -> InlineResults:
    """Hold up to ten results, and write five to a file."""
    monkeypatch.setattr(inline_results, "LIMIT_BYTES", 10 * RESULT_BYTES)
    monkeypatch.setattr(inline_results, "FILE_BYTES", 5 * RESULT_BYTES)
    return InlineResults(places, lambda level, text: said.append(f"{level}: {text}"))


said: list[str] = []


def task_with_result(number: int) -> TaskState:
    key = f"make-{number}"
    task = TaskState(number, key, Layer(0, key_layer(key), "make", ""))
    task.shared_location = bytes([number]) * RESULT_BYTES
    return task


def files(places: ClusterPlaces) -> list[Path]:
    return list(Path(places.directory).glob("glassloom-*-head-*"))


def value(task: TaskState) -> bytes:
    place = task.shared_location
    return read_packed(place) if isinstance(place, Packed) else place


def test_the_oldest_results_go_to_files_when_there_are_too_many(held: InlineResults, places: ClusterPlaces) -> None:
    made = [task_with_result(number) for number in range(18)]
    for task in made:
        held.add(task)
        held.add(task)  # told of twice
    assert [isinstance(task.shared_location, Packed) for task in made] == [True] * 10 + [False] * 8
    assert (held.held_bytes, len(files(places))) == (8 * RESULT_BYTES, 2)
    assert [value(task) for task in made] == [bytes([number]) * RESULT_BYTES for number in range(18)]


def test_a_file_goes_with_the_last_of_its_results(held: InlineResults, places: ClusterPlaces) -> None:
    made = [task_with_result(number) for number in range(11)]
    for task in made:
        held.add(task)
    for task in made[:4] + made[5:]:
        held.free(task.number, task.shared_location)
    assert (held.held_bytes, len(files(places))) == (0, 1)
    held.free(made[4].number, made[4].shared_location)
    assert files(places) == []
    held.free(made[4].number, made[4].shared_location)  # told of twice


def test_small_and_shared_results_are_not_counted(held: InlineResults) -> None:
    tiny, elsewhere = task_with_result(1), task_with_result(2)
    tiny.shared_location, elsewhere.shared_location = b"x" * 10, None
    for task in (tiny, elsewhere, None):
        held.add(task)
    assert held.held_bytes == 0


def test_results_that_are_asked_for_together_can_be_written_at_once(held: InlineResults, places: ClusterPlaces) -> None:
    made = [task_with_result(number) for number in range(9)]
    for task in made:
        held.add(task)
    held.write(made[2:])
    assert [isinstance(task.shared_location, Packed) for task in made] == [False] * 2 + [True] * 7
    assert (held.held_bytes, len(files(places))) == (2 * RESULT_BYTES, 2)


def test_results_stay_in_memory_while_nothing_can_be_written(
    held: InlineResults, places: ClusterPlaces, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inline_results, "SHARED_MEMORY_DIR", tmp_path / "missing")
    os.rename(places.directory, f"{places.directory}-away")
    said.clear()
    made = [task_with_result(number) for number in range(30)]
    for task in made:
        held.add(task)
    assert held.held_bytes == 30 * RESULT_BYTES
    assert len(said) == 4 and "small results take" in said[0] and "No such file or directory" in said[0]
    os.rename(f"{places.directory}-away", places.directory)
    for number in range(30, 40):
        made.append(task_with_result(number))
        held.add(made[-1])
    assert held.held_bytes <= 10 * RESULT_BYTES
    assert [value(task) for task in made] == [bytes([number]) * RESULT_BYTES for number in range(40)]


def test_a_packed_file_that_is_damaged_or_gone_is_no_wrong_result(tmp_path: Path) -> None:
    first, second = write_packed(str(tmp_path / "packed"), [dumps("one"), dumps("two")])
    assert (read_location(first), read_location(second)) == ("one", "two")
    os.truncate(first.path, second.start + 1)
    with pytest.raises(DataLost, match="is damaged"):
        read_location(second)
    os.unlink(first.path)
    with pytest.raises(DataLost):
        read_location(first)


# On a cluster


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    """A cluster whose head holds half a MiB of small results."""
    first, last = head_process.BOOTSTRAP.rsplit("main(start", 1)
    code = "import glassloom.head.inline_results as held, glassloom.head.queries as queries\n"
    code += "held.LIMIT_BYTES, held.FILE_BYTES, queries._ANSWER_BYTES = 2**19, 2**17, 2**18\n"
    monkeypatch.setattr(head_process, "BOOTSTRAP", f"{first}{code}main(start{last}")
    with Client(n_workers=2, threads_per_worker=1, memory_limit="1GB", set_as_default=False) as client:
        yield client


def text(number: int) -> str:
    return f"{number:05d}" * 4000  # 20 kB


def packed_files(client: Client) -> list[str]:
    return [name for name in os.listdir(client._record.directory) if "-head-" in name]


def test_results_that_the_head_has_written_to_files_are_gathered_used_and_freed(small: Client) -> None:
    expected = [text(number) for number in range(300)]  # 6 MB
    futures = small.map(lambda number: f"{number:05d}" * 4000, range(300))
    assert small.gather(futures) == expected
    assert len(packed_files(small)) > 30
    assert small.gather(small.map(len, futures)) == [20_000] * 300
    assert futures[0].result() == expected[0]
    kill_a_worker(small)
    assert small.gather(futures) == expected
    del futures
    eventually(lambda: packed_files(small) == [])


def test_scattered_values_are_bounded_too(small: Client) -> None:
    futures = small.scatter([text(number) for number in range(100)])
    eventually(lambda: packed_files(small))
    assert small.gather(small.map(tasks.same, futures))[99] == text(99)


@pytest.mark.long
def test_the_head_stays_small_while_many_small_results_are_held(client: Client) -> None:
    head = psutil.Process(client._record.pid)
    before = head.memory_info().rss
    futures = client.map(lambda number: os.urandom(30_000), range(6000), pure=False)  # 180 MB

    def total(parts: list[Any]) -> int:
        return sum(map(len, parts))

    assert total(client.gather(futures)) == 6000 * 30_000
    assert head.memory_info().rss - before < 110 * 2**20  # 64 of results, and the tasks
