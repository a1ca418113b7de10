"""The statistical profile of real clusters and of the pool of threads: right in sum and in its parts, and harmless."""

from __future__ import annotations

import os
import re
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import glassloom
import msgspec
import pytest
from fault_helpers import eventually, worker_pids
from glassloom import Client, config
from glassloom.errors import OptionError
from glassloom.local.threads import ThreadsRuntime
from glassloom.recordings.export import export
from glassloom_metrics.call_tree import profile_of
from glassloom_metrics.protocol import Action, Layers, TaskEvents, column
from glassloom_metrics.recording import read_recording

INTERVAL_S = 0.005
SEEN_RARELY = {"(engine)", "(not seen)"}


@pytest.fixture(scope="module")
def client(nothing_is_left_behind):
    with (
        config.set(metrics__profile_interval=INTERVAL_S),
        Client(n_workers=2, threads_per_worker=1, memory_limit="1GB") as client,
    ):
        client.run(four_parts, 0)  # each worker has imported what it needs: that is no part of a task
        yield client


def one_part() -> None:
    time.sleep(0.01)


def three_parts(seconds: float) -> None:
    time.sleep(seconds)


def four_parts(times: int) -> int:
    """Take three times as long in one function as in another, also where a busy machine lets neither be in time."""
    for _ in range(times):
        start_s = time.perf_counter()
        one_part()
        three_parts(3 * (time.perf_counter() - start_s))
    return times


def child(node: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the child of a node that is of this function."""
    (found,) = [each for each in node["children"].values() if each["description"]["name"] == name]
    return found


def computed_s(recording, layer: str) -> float:
    """Return how long the tasks of a layer have run."""
    names: dict[int, str] = {}
    total_s = 0.0
    for message in recording:
        if isinstance(message, Layers):
            names.update(zip(message.ids, message.names, strict=True))
        elif isinstance(message, TaskEvents):
            rows = zip(*(column(message, name) for name in ("layer", "action", "duration_s")), strict=True)
            total_s += sum(s for number, action, s in rows if action == Action.COMPUTE and names[number] == layer)
    return total_s


def test_the_profile_has_all_the_time_of_tasks_and_its_parts_in_proportion(client, tmp_path):
    path = tmp_path / "run.glr"
    with client.record(path):
        client.gather(client.map(four_parts, range(10, 16)))
        client.profile()  # waits until what has run is in the log
    exported, damage = export(path, "speedscope")
    assert (exported.name, damage) == ("run.speedscope.json", "")
    frames = msgspec.json.decode(exported.read_bytes())["shared"]["frames"]
    assert {"four_parts", "one_part", "three_parts"} <= {frame["name"] for frame in frames}
    recording = read_recording(path)
    tree = profile_of(recording).tree(lambda layer: layer == "four_parts")
    ran_s = computed_s(recording, "four_parts")
    assert tree["seconds"] == pytest.approx(ran_s, rel=0.1)
    task = child(tree, "four_parts")
    assert task["count"] > 0.8 * tree["count"] > 50
    share = child(task, "three_parts")["seconds"] / task["seconds"]
    assert 0.6 < share < 0.9
    assert set(child(task, "one_part")["lines"]) == {one_part.__code__.co_firstlineno + 1}
    assert sum(count for count, _ in task["lines"].values()) == task["count"]


@pytest.mark.long
def test_a_client_tells_the_profile_of_what_has_just_run_and_of_what_runs(client, tmp_path):
    client.gather(client.map(four_parts, range(3, 6)))
    release = tmp_path / "release"
    running = client.submit(wait_for_file, str(release))
    eventually(lambda: client.profile(key="wait_for_file")["count"] > 0)
    tree = client.profile(key="four_parts")
    assert child(tree, "four_parts")["seconds"] > 0.2
    release.touch()
    running.result()
    workers = sorted(client.scheduler_info()["workers"])
    *parts, total, before, after, nothing = profiles(
        client,
        *[{"key": "four_parts", "workers": worker} for worker in workers],
        {"key": "four_parts"},
        {"key": "four_parts", "stop": time.time() - 3600},
        {"key": "four_parts", "start": time.time() + 3600},
        {"key": "nothing"},
    )
    assert sum(part["count"] for part in parts) == total["count"] > 0
    assert (before["count"], after["count"], nothing["count"]) == (0, 0, 0)


def profiles(client: Client, *options: dict[str, Any]) -> list[Any]:
    """Return what the client tells with each of these options: all at once, as each waits for the head's next window."""
    with ThreadPoolExecutor(len(options)) as threads:
        return list(threads.map(lambda each: client.profile(**each), options))


def wait_for_file(path: str) -> None:
    while not os.path.exists(path):
        time.sleep(0.001)


def test_flame_files_have_the_layer_the_functions_and_the_same_sum(client, tmp_path):
    client.gather(client.map(four_parts, [5, 6]))
    profiles(client, *[{"key": "four_parts", "filename": tmp_path / name} for name in ("p.json", "p.txt")])
    told = msgspec.json.decode((tmp_path / "p.json").read_bytes())
    (profile,) = told["profiles"]
    names = [frame["name"] for frame in told["shared"]["frames"]]
    stacks = [[names[frame] for frame in stack] for stack in profile["samples"]]
    assert ["four_parts", "four_parts", "three_parts"] in stacks
    assert profile["endValue"] == pytest.approx(sum(profile["weights"]))
    lines = (tmp_path / "p.txt").read_text().splitlines()
    milliseconds = sum(int(line.rpartition(" ")[2]) for line in lines)
    assert milliseconds == pytest.approx(1000 * profile["endValue"], rel=0.2)
    assert any(re.match(r"four_parts;four_parts \(.*:\d+\);three_parts \(.*:\d+\) \d+$", line) for line in lines)


@pytest.mark.fault("a task holds Python's lock while stacks are sampled")
def test_a_task_whose_function_is_compiled_and_one_that_holds_pythons_lock_are_counted(client):
    begun_s = time.monotonic()
    client.submit(time.sleep, 0.3).result()
    at_most_s = time.monotonic() - begun_s  # a busy machine wakes it late
    tree = client.profile("sleep")
    assert 0.7 * 0.3 < child(tree, "(compiled code)")["seconds"] < 1.3 * at_most_s
    held_s = client.submit(hold_the_lock, 3 * 10**7).result()
    assert client.profile("hold_the_lock")["seconds"] == pytest.approx(held_s, rel=0.3)


def hold_the_lock(length: int) -> float:
    begun_s = time.monotonic()
    sum(range(length))
    return time.monotonic() - begun_s


def short(number: int) -> int:
    return sum(range(number))


def test_short_tasks_are_counted_though_each_ends_before_the_next_look(client, tmp_path):
    path = tmp_path / "run.glr"
    with client.record(path):
        client.gather(client.map(short, range(20_000, 24_000)))
        client.profile()
    recording = read_recording(path)
    profile = profile_of(recording)
    counted_s = profile.tree(lambda layer: layer in ("short", "(unknown)"))["seconds"]
    assert counted_s == pytest.approx(computed_s(recording, "short"), rel=0.1)


def sum_of_others(client_id: str) -> int:
    with glassloom.worker_client() as client:
        return sum(client.gather(client.map(four_parts, [8, 9])))


def test_a_task_that_waits_for_others_is_not_counted_while_it_waits(client):
    client.submit(sum_of_others, client.id).result()
    tree, of_others = profiles(client, {"key": "sum_of_others"}, {"key": "four_parts"})
    assert tree["seconds"] < 0.5 * of_others["seconds"]


def fork_and_return(value: int) -> int:
    pid = os.fork()
    if pid == 0:
        return -1
    os.waitpid(pid, 0)
    time.sleep(0.1)
    return value


@pytest.mark.long
@pytest.mark.fault("a worker is stopped, killed or forks while its stacks are sampled")
def test_tasks_that_fork_and_workers_that_are_stopped_or_killed_do_no_harm():
    with (
        config.set(metrics__profile_interval=INTERVAL_S),
        Client(n_workers=1, threads_per_worker=2, memory_limit="1GB") as client,
    ):
        assert client.gather(client.map(fork_and_return, range(5))) == [0, 1, 2, 3, 4]
        (pid,) = worker_pids(client)
        futures = client.map(four_parts, range(5, 9))
        eventually(lambda: any(client.processing().values()))
        os.kill(pid, signal.SIGSTOP)
        time.sleep(0.5)
        os.kill(pid, signal.SIGCONT)
        assert client.gather(futures) == [5, 6, 7, 8]
        futures = client.map(four_parts, range(10, 14))
        eventually(lambda: any(client.processing().values()))
        os.kill(pid, signal.SIGKILL)
        assert client.gather(futures) == [10, 11, 12, 13]
        assert client.profile("four_parts")["seconds"] > 1.0
        stuck = client.submit(time.sleep, 60)  # the cluster ends in the middle of it
        eventually(lambda: any(client.processing().values()))
        assert not stuck.done()


def test_without_an_interval_nothing_is_sampled():
    with config.set(metrics__profile_interval=None), Client(n_workers=1, threads_per_worker=1) as client:
        client.gather(client.map(four_parts, [2, 3]))
        assert client.profile()["count"] == 0
        assert client.run(profiler_threads) == dict.fromkeys(client.scheduler_info()["workers"], 0)


def profiler_threads() -> int:
    import threading

    return sum(thread.name == "profiler" for thread in threading.enumerate())


def test_an_idle_worker_takes_no_samples_and_a_busy_one_spends_less_than_one_per_cent(client):
    client.gather(client.map(four_parts, [6, 7]))
    before = eventually(lambda: looks_when_asleep(client))
    time.sleep(0.3)
    assert looks_when_asleep(client) == before
    client.gather(client.map(short, range(50_000, 50_600)))
    costs = client.run(profiler_cost)
    assert all(looks > 0 and cost_s / looks < 0.001 for looks, cost_s in costs.values())


def looks_when_asleep(client: Client) -> dict[str, int] | None:
    found = client.run(profiler_state)
    return None if None in found.values() else found


def profiler_of_worker():
    import gc

    from glassloom.sampling.stack_sampler import StackSampler

    (sampler,) = [each for each in gc.get_objects() if isinstance(each, StackSampler)]
    return sampler


def profiler_state() -> int | None:
    sampler = profiler_of_worker()
    return sampler.looks if sampler._sleeps else None


def profiler_cost() -> tuple[int, float]:
    sampler = profiler_of_worker()
    return sampler.looks, sampler.cost_s


@pytest.mark.parametrize(("arguments", "name"), [({"start": "10s"}, "start"), ({"stop": True}, "stop")])
def test_a_time_that_is_none_is_refused(client, arguments, name):
    with pytest.raises(OptionError, match=f"{name}=.* should be seconds since the epoch"):
        client.profile(**arguments)


async def _ask() -> int:
    async with Client(n_workers=1, threads_per_worker=1, asynchronous=True) as client:
        await client.submit(four_parts, 5)
        return (await client.profile())["count"]


def test_an_asynchronous_client_has_something_to_await():
    import asyncio

    assert asyncio.run(_ask()) > 0


def test_threads_are_sampled_as_workers_are(tmp_path: Path):
    runtime = ThreadsRuntime(2, publish=True)
    try:
        with config.set(metrics__profile_interval=INTERVAL_S):
            record = runtime.cluster_record()
        from glassloom.client import profile_method
        from glassloom.recordings.cluster_recording import start_recording

        path = tmp_path / "threads.glr"
        recording = start_recording(record, path, since_start=False, overwrite=False)
        parts = [glassloom.delayed(four_parts)(times) for times in range(8, 12)]
        assert glassloom.delayed(sum)(parts).compute(scheduler=runtime) == 38
        profile_method._read(record, (None, None), None)  # waits as `client.profile` does
        recording.stop()
    finally:
        runtime.close()
    read = read_recording(path)
    tree = profile_of(read).tree(lambda layer: layer == "four_parts")
    assert tree["seconds"] == pytest.approx(computed_s(read, "four_parts"), rel=0.1)
    task = child(tree, "four_parts")
    assert 0.6 < child(task, "three_parts")["seconds"] / task["seconds"] < 0.9
