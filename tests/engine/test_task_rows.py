"""What the metrics tell of each task: what it waited for, which attempt it was, which input came last, in few bytes."""

from __future__ import annotations

import asyncio
import math
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import tasks
from fault_helpers import eventually, worker_pids
from glassloom import Client, delayed, wait
from glassloom.local.threads import ThreadsRuntime
from glassloom_metrics.protocol import (
    COLUMN_TYPECODES,
    NO_WORKER,
    NOW,
    PUBLISH_LANE,
    TRANSFER_LANE,
    Action,
    Hello,
    Layers,
    Position,
    Running,
    TaskEvents,
    WorkerLeft,
    column,
    decode,
    decode_known,
    encode,
    task_events,
)
from glassloom_metrics.recorder import Recorder
from glassloom_metrics.registry import find_record, read_records
from glassloom_metrics.subscriber import subscribe_frames
from glassloom_metrics.task_events import pack_index
from hypothesis import given
from hypothesis import strategies as st
from pools import end

CLOCKS_S = 1.0
"""How far a cluster's clock may be from this computer's, which may have been set since the cluster began."""
FLOAT_S = 1e-3
"""More than the times of one task may differ because they are rounded to 32 bits."""


@pytest.fixture(scope="module")
def shared() -> Iterator[Client]:
    with Client(n_workers=2, threads_per_worker=1, set_as_default=False) as client:
        yield client


def all_rows(cluster: str) -> list[dict[str, Any]]:
    """Return all rows of a cluster, with the name of their layer."""

    async def read() -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = []
        names: dict[int, str] = {}
        async for payload in subscribe_frames(find_record(cluster)):
            message = decode(payload)
            if isinstance(message, Layers):
                names |= dict(zip(message.ids, message.names, strict=True))
            elif isinstance(message, TaskEvents):
                assert message.first == len(rows)
                columns = {name: column(message, name) for name in COLUMN_TYPECODES}
                rows += [
                    {name: values[place] for name, values in columns.items()} | {"index": index}
                    for place, index in enumerate(message.index)
                ]
            elif isinstance(message, Position):
                break
        return [row | {"number": number, "name": names.get(row["layer"])} for number, row in enumerate(rows)]

    return asyncio.run(read())


def rows_of(cluster: str, wanted: Callable[[list[dict[str, Any]]], Any], since: int = 0) -> list[dict[str, Any]]:
    """Return the rows from one number on, once they are all that is wanted."""

    def found() -> list[dict[str, Any]]:
        rows = all_rows(cluster)[since:]
        return rows if wanted(rows) else []

    return eventually(found)


def computed(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row for row in rows if row["action"] == Action.COMPUTE]


def computed_of(rows: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    return [row for row in computed(rows) if row["name"] == name]


def last_input(rows: list[dict[str, Any]], row: dict[str, Any]) -> dict[str, Any] | None:
    """Return the row of the input that came last."""
    return next(
        (each for each in rows if row["last_input"] and each["number"] == row["number"] - row["last_input"]), None
    )


def spin(seconds: float) -> float:
    end_s = time.thread_time() + seconds
    while time.thread_time() < end_s:
        pass
    return seconds


def rest(value: float) -> float:
    time.sleep(value)
    return value


def first_of(values: list[float]) -> float:
    return values[0]


def make(n: int) -> np.ndarray:
    return np.ones(n)


def add_up(*arrays: np.ndarray) -> float:
    return float(sum(array.sum() for array in arrays))


def times(value: float, number: int) -> float:
    return value * number


def check_times(row: dict[str, Any]) -> None:
    """What a row says of its times must fit together."""
    parts = [row[name] for name in ("ready_wait_s", "sent_wait_s", "fetch_s", "deserialise_s", "duration_s")]
    assert all(part >= 0 for part in parts), row
    assert row["fetch_s"] + row["deserialise_s"] <= row["duration_s"] + FLOAT_S
    assert math.isnan(row["cpu_s"]) or 0 <= row["cpu_s"] <= row["duration_s"] + FLOAT_S


def test_the_waits_of_a_task_add_up_to_the_time_since_its_last_input(shared: Client) -> None:
    """Times are compared with those of tasks before and after: the cluster's clock doesn't follow this computer's when it is set."""
    since = len(all_rows(shared.id))
    shared.submit(times, 0, 0, pure=False).result()
    waits = [shared.submit(rest, 0.05, pure=False) for _ in range(6)]
    last = shared.submit(sum, waits)
    assert last.result() == pytest.approx(0.3)
    shared.submit(times, 1, 0, pure=False).result()
    rows = rows_of(shared.id, lambda rows: len(computed(rows)) == 9, since)
    before, after = sorted(computed_of(rows, "times"), key=lambda row: row["start_s"])
    between = [row for row in computed(rows) if row["name"] != "times"]
    for row in between:
        check_times(row)
        ready_s = row["start_s"] - row["sent_wait_s"] - row["ready_wait_s"]
        assert ready_s >= before["start_s"] + before["duration_s"] - FLOAT_S
        assert row["start_s"] + row["duration_s"] <= after["start_s"] + FLOAT_S
    slept = computed_of(rows, "rest")
    assert len(slept) == 6
    assert sum(row["ready_wait_s"] + row["sent_wait_s"] for row in slept) > 0.05 * (1 + 1 + 2 + 2) - FLOAT_S
    assert all(row["duration_s"] >= 0.05 - FLOAT_S and row["bytes_in"] == 0 for row in slept)
    (summed,) = [row for row in between if row["name"] != "rest"]
    cause = last_input(rows, summed)
    assert cause is not None and cause["name"] == "rest"
    ready_s = summed["start_s"] - summed["sent_wait_s"] - summed["ready_wait_s"]
    assert ready_s >= cause["start_s"] + cause["duration_s"] - FLOAT_S
    assert all(row["start_s"] + row["duration_s"] <= ready_s + FLOAT_S for row in slept)
    assert summed["bytes_in"] > 0


def test_cpu_time_tells_work_from_sleep(shared: Client) -> None:
    since = len(all_rows(shared.id))
    shared.gather([shared.submit(spin, 0.05, pure=False), shared.submit(rest, 0.05, pure=False)])
    shared.gather(
        shared.map(spin, [0.01 + n / 1e6 for n in range(20)]) + shared.map(rest, [0.01 + n / 1e6 for n in range(20)])
    )
    rows = rows_of(shared.id, lambda rows: len(computed(rows)) == 42, since)
    known = [row for row in rows if not math.isnan(row["cpu_s"])]
    assert {row["name"] for row in known} == {"spin", "rest"}
    spun = [row for row in known if row["name"] == "spin"]
    slept = [row for row in known if row["name"] == "rest"]
    assert sum(row["cpu_s"] for row in spun) / len(spun) > 0.009
    assert sum(row["cpu_s"] for row in slept) / sum(row["duration_s"] for row in slept) < 0.5
    for row in rows:
        check_times(row)


def test_each_link_of_a_chain_and_each_node_of_a_tree_names_the_input_that_came_last(
    shared: Client, tmp_path: Path
) -> None:
    since = len(all_rows(shared.id))
    chain = shared.submit(rest, 0.02, pure=False)
    for _ in range(5):
        chain = shared.submit(first_of, [chain], pure=False)
    assert chain.result() == 0.02
    rows = rows_of(shared.id, lambda rows: len(computed(rows)) == 6, since)
    links = sorted(computed(rows), key=lambda row: row["start_s"])
    for before, link in zip(links, links[1:], strict=False):
        assert last_input(rows, link) == before
    assert links[0]["last_input"] == 0

    since = len(all_rows(shared.id))
    leaves = [shared.submit(rest, 0.01 * n, pure=False) for n in range(1, 8)]
    leaves.append(shared.submit(tasks.wait_for, str(tmp_path / "go"), 0.08))
    pairs = [shared.submit(sum, leaves[n : n + 2], pure=False) for n in range(0, 8, 2)]
    tree = shared.submit(sum, pairs, pure=False)
    wait(pairs[:3])
    (tmp_path / "go").touch()
    assert tree.result() == pytest.approx(0.36)
    rows = rows_of(shared.id, lambda rows: len(computed(rows)) == 13, since)
    nodes = [row for row in computed(rows) if row["name"] == "sum"]
    for node in nodes:
        cause = last_input(rows, node)
        assert cause is not None and cause["start_s"] + cause["duration_s"] <= node["start_s"] + FLOAT_S
    (root,) = [row for row in nodes if (last_input(rows, row) or {}).get("name") == "sum"]
    assert root == max(nodes, key=lambda row: row["start_s"])
    ended = [row["start_s"] + row["duration_s"] for row in nodes if row is not root]
    cause = last_input(rows, root)
    assert cause is not None and cause["start_s"] + cause["duration_s"] == max(
        ended
    )  # the pair that waited for the others


def test_attempts_are_counted_after_failures_and_the_death_of_a_worker(tmp_path: Path) -> None:
    with Client(n_workers=1, threads_per_worker=1, set_as_default=False) as client:
        flaky = client.submit(_fail_once, str(tmp_path / "failed"), retries=2)
        assert flaky.result() == 1
        rows = rows_of(client.id, lambda rows: len(computed(rows)) == 2)
        assert [(row["ok"], row["attempt"]) for row in computed(rows)] == [(0, 1), (1, 2)]
        for row in rows:
            check_times(row)

        died = client.submit(_die_once, str(tmp_path / "died"))
        assert died.result() == 2
        rows = rows_of(client.id, lambda rows: len(computed(rows)) == 3)
        assert (rows[-1]["ok"], rows[-1]["attempt"]) == (1, 2)


def _fail_once(path: str) -> int:
    if os.path.exists(path):
        return 1
    Path(path).touch()
    raise ValueError("once")


def _die_once(path: str) -> int:
    if os.path.exists(path):
        return 2
    Path(path).touch()
    os.kill(os.getpid(), signal.SIGKILL)
    return 0


def test_a_pool_of_threads_tells_the_same() -> None:
    runtime = ThreadsRuntime(2, publish=True)
    runtime.pool()
    (record,) = eventually(lambda: [each for each in read_records() if each.kind == "threads"])
    try:
        parts = [delayed(tasks.nap)(0.02 + n / 1000) for n in range(4)]
        delayed(tasks.total)(parts).compute(scheduler=runtime)
        rows = rows_of(record.id, lambda rows: len(rows) == 5)
    finally:
        end(runtime)
    for row in rows:
        check_times(row)
        assert row["attempt"] == 1
    (total,) = [row for row in rows if row["name"] == "total"]
    cause = last_input(rows, total)
    assert cause is not None and cause["name"] == "nap"


def test_rows_take_few_bytes_in_the_log() -> None:
    recorder = Recorder(Hello(2, "c1", "demo", "processes", 0.0))
    n = 1000
    many: dict[str, Any] = {name: [(number * 7919) % 1000 / 8 for number in range(n)] for name in COLUMN_TYPECODES}
    whole = {"layer": 7, "worker": 40, "lane": 8, "nbytes": 2**40, "last_input": 500}
    many |= {name: [(number * 7919) % most for number in range(n)] for name, most in whole.items()}
    many |= dict(action=Action.COMPUTE, ok=1, attempt=1, producer=NO_WORKER)
    recorder.add_tasks([f"{number % 32}, {number % 9}" for number in range(n)], **many)
    recorder.flush(1.0)
    dependent = len(recorder.read(1, limit=1)[0][0]) / n
    recorder.add_tasks([f"{number * 7919 % 2**96:024x}" for number in range(2**90, 2**90 + n)], **many)
    recorder.flush(1.0)
    hashed = len(recorder.read(2, limit=1)[0][0]) / n
    seconds = many["start_s"]
    recorder.add_tasks(
        [f"{number}" for number in range(n)],
        layer=1, worker=1, lane=0, start_s=seconds, duration_s=seconds, sent_wait_s=seconds, ready_wait_s=0.1,
        cpu_s=seconds, fetch_s=0.0, deserialise_s=0.0, bytes_in=0, nbytes=32,
    )  # fmt: skip
    recorder.flush(2.0)
    independent = len(recorder.read(3, limit=1)[0][0]) / n
    assert dependent <= 58
    assert hashed <= 64
    assert independent <= 26


@given(
    st.lists(st.integers(0, 2**32 - 1) | st.integers(0, 300), min_size=1, max_size=20),
    st.lists(st.integers(-1, 2**63 - 1) | st.integers(0, 70_000), min_size=20, max_size=20),
    st.sampled_from(["", "ab", "12345678", "1234567A", "0123456789abcdef01234567", "é"]),
)
def test_integers_and_texts_are_packed_in_few_bytes_and_read_as_they_were(workers, nbytes, text) -> None:
    nbytes = nbytes[: len(workers)]
    lanes, index = [n % 70_000 % 2**16 for n in workers], [text] * len(workers)
    rows = task_events(3, index, worker=workers, nbytes=nbytes, lane=lanes, start_s=map(float, workers))
    payload = encode(rows)
    again = decode_known(payload)
    assert isinstance(again, TaskEvents) and len(again) == len(rows)
    assert again.index == index
    for name, values in (("worker", workers), ("nbytes", nbytes), ("lane", lanes), ("start_s", workers)):
        assert column(again, name).tolist() == values
    if isinstance(again.worker, bytes):
        most = max(workers)
        assert len(again.worker) == len(workers) * (1 if most < 2**8 else 2 if most < 2**16 else 4)


def test_tokens_that_are_no_rows_are_refused() -> None:
    rows = task_events(0, ["0123456789abcdef"] * 3, ok=1)
    for wrong in ({"token_digits": 7}, {"token_digits": -2}, {"tokens": b"123"}, {"index": ["a"]}):
        packed = msgspec.structs.replace(pack_index(rows), **wrong)
        with pytest.raises(msgspec.DecodeError, match="tokens"):
            decode_known(msgspec.msgpack.encode(packed))


def test_a_column_is_read_alike_whether_it_is_packed_or_one_value() -> None:
    alike = task_events(0, ["a", "b"], layer=[3, 3], nbytes=[-1, -1], start_s=[1.5, 1.5])
    assert (alike.layer, alike.nbytes, alike.start_s) == (3, -1, 1.5)
    differing = task_events(0, ["a", "b"], layer=[3, 4], nbytes=[-1, 2], start_s=[1.5, 2.5])
    assert isinstance(differing.layer, bytes)
    for events, layers in ((alike, [3, 3]), (differing, [3, 4])):
        again = decode_known(encode(events))
        assert isinstance(again, TaskEvents)
        assert column(again, "layer").tolist() == layers
    for wrong in ({"lane": 70_000}, {"worker": -1}, {"layer": 1.5}, {"nbytes": b"12345"}):
        with pytest.raises(msgspec.DecodeError):
            decode_known(encode(msgspec.structs.replace(differing, **wrong)))


def test_what_reads_a_map_names_the_one_that_came_last(shared: Client) -> None:
    since = len(all_rows(shared.id))
    mapped = shared.map(rest, [0.001 + n / 1e6 for n in range(40)])
    shared.gather(mapped)
    assert shared.submit(sum, mapped, pure=False).result() > 0.04
    rows = rows_of(shared.id, lambda rows: len(computed(rows)) == 41, since)
    last = computed(rows)[-1]
    assert last["name"] == "sum"
    assert last_input(rows, last) == computed(rows)[-2]


def test_tasks_that_read_one_result_and_the_one_that_reads_theirs_name_what_came_last(shared: Client) -> None:
    since = len(all_rows(shared.id))
    source = shared.submit(rest, 0.01, pure=False)
    mapped = shared.map(times, [source] * 40, range(40), pure=False)
    total = shared.submit(sum, mapped, pure=False)
    del mapped
    assert total.result() == pytest.approx(0.01 * sum(range(40)))
    rows = rows_of(shared.id, lambda rows: len(computed(rows)) == 42, since)
    first, *middle, last = computed(rows)
    assert (first["name"], {row["name"] for row in middle}, last["name"]) == ("rest", {"times"}, "sum")
    assert all(last_input(rows, row) == first and row["bytes_in"] == first["nbytes"] for row in middle)
    assert last_input(rows, last) == middle[-1]
    assert last["bytes_in"] == sum(row["nbytes"] for row in middle)
    for row in computed(rows):
        check_times(row)


def test_reading_what_another_worker_has_made_is_a_transfer_with_its_producer(shared: Client) -> None:
    since = len(all_rows(shared.id))
    addresses = list(shared.scheduler_info()["workers"])
    parts = [shared.submit(make, 200_000, workers=address, pure=False) for address in addresses]
    wait(parts)
    reader = addresses[0]
    assert shared.submit(add_up, *parts, workers=reader, pure=False).result() == 400_000
    rows = rows_of(shared.id, lambda rows: len(computed(rows)) == 3, since)
    (summed,) = computed_of(rows, "add_up")
    (moved,) = [row for row in rows if row["action"] == Action.TRANSFER]
    (made,) = [row for row in computed_of(rows, "make") if row["worker"] != summed["worker"]]
    assert (moved["producer"], moved["worker"]) == (made["worker"], summed["worker"])
    assert (moved["layer"], moved["index"], moved["lane"]) == (made["layer"], made["index"], TRANSFER_LANE)
    assert moved["nbytes"] >= 1_600_000
    assert summed["bytes_in"] == pytest.approx(3_200_000, rel=0.01)
    assert moved["number"] < summed["number"]
    took_s = summed["fetch_s"] + summed["deserialise_s"]
    assert 0 < moved["duration_s"] <= took_s + FLOAT_S <= summed["duration_s"] + 2 * FLOAT_S
    assert summed["start_s"] - FLOAT_S <= moved["start_s"]
    (published,) = [row for row in rows if row["action"] == Action.SERIALISE]
    assert (published["worker"], published["lane"]) == (made["worker"], PUBLISH_LANE)
    assert computed_of(rows, "make") and all(row["producer"] == NO_WORKER for row in computed(rows))
    check_times(summed)


def running_tasks(cluster: str) -> list[tuple[int, int, str, str, float]]:
    """Return worker, lane, layer, index and start of the tasks that run, as a new subscriber is told."""

    async def read() -> list[tuple[int, int, str, str, float]]:
        names: dict[int, str] = {}
        found: list[tuple[int, int, str, str, float]] = []
        async for payload in subscribe_frames(find_record(cluster), since=NOW):
            message = decode(payload)
            if isinstance(message, Layers):
                names |= dict(zip(message.ids, message.names, strict=True))
            elif isinstance(message, Running):
                layers = [names[layer] for layer in message.layers]
                rows = (message.workers, message.lanes, layers, message.indices, message.started_s)
                found = list(zip(*rows, strict=True))
            elif isinstance(message, Position):
                break
        return found

    return asyncio.run(read())


def check_long_tasks_are_told(cluster: str, begin: Callable[[str], Any], path: Path) -> None:
    begun_s = time.time()
    asked = begin(str(path))
    ((worker, lane, name, _, started_s),) = eventually(lambda: running_tasks(cluster))
    assert (worker, lane, name) == (0, 0, "wait_for")
    assert begun_s - CLOCKS_S <= started_s <= time.time() + CLOCKS_S
    ((*_, again_s),) = running_tasks(cluster)
    assert again_s == started_s
    path.touch()
    asked()
    eventually(lambda: not running_tasks(cluster))


@pytest.mark.parametrize("n_tasks", [1, 9])
def test_a_long_task_is_told_to_run_and_forgotten_when_it_has_ended(tmp_path: Path, n_tasks: int) -> None:
    with Client(n_workers=1, threads_per_worker=1, set_as_default=False) as client:

        def begin(path: str) -> Callable[[], Any]:
            return partial(client.gather, client.map(tasks.wait_for, [path] * n_tasks, range(n_tasks)))

        check_long_tasks_are_told(client.id, begin, tmp_path / "go on")


def test_a_long_task_on_the_pool_of_threads_is_told_to_run(tmp_path: Path) -> None:
    runtime = ThreadsRuntime(1, publish=True)
    runtime.pool()
    (record,) = eventually(lambda: [each for each in read_records() if each.kind == "threads"])
    try:

        def begin(path: str) -> Callable[[], Any]:
            thread = threading.Thread(target=delayed(tasks.wait_for)(path).compute, kwargs={"scheduler": runtime})
            thread.start()
            return thread.join

        check_long_tasks_are_told(record.id, begin, tmp_path / "go on")
    finally:
        end(runtime)


def test_the_last_that_is_told_of_a_dead_worker_is_what_it_was_at(tmp_path: Path) -> None:
    with Client(n_workers=1, threads_per_worker=1, set_as_default=False) as client:
        (pid,) = worker_pids(client)
        going_on = tmp_path / "go on"
        future = client.submit(tasks.wait_for, str(going_on), 5)
        told = eventually(lambda: running_tasks(client.id))
        os.kill(pid, signal.SIGKILL)

        async def read() -> list[Any]:
            seen: list[Any] = []
            async for payload in subscribe_frames(find_record(client.id)):
                seen.append(decode(payload))
                if isinstance(seen[-1], WorkerLeft):
                    break
            return seen

        left = asyncio.run(asyncio.wait_for(read(), 60))
        last = [message for message in left if isinstance(message, Running) and 0 in message.workers][-1]
        assert last.started_s == [started_s for *_, started_s in told]
        ((worker, *_, again_s),) = eventually(lambda: [row for row in running_tasks(client.id) if row[0] == 1])
        assert again_s > last.started_s[0]
        going_on.touch()
        assert future.result() == 5
