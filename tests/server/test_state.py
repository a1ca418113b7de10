"""What readers of the stream are told: from any state to any other, whatever they have missed."""

from __future__ import annotations

import json
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from glassloom_metrics.gpu_messages import GpuDevice, gpu_devices
from glassloom_metrics.protocol import EngineSamples, Hello, Pressure, Runs, Settings, WorkerJoined, WorkerSamples
from glassloom_server.cluster_fold import ClusterFold
from glassloom_server.overhead import ProcessMeter
from glassloom_server.state import State, changes
from glassloom_server.wire import DashboardsCost, DeviceMemory, EngineCost, StartState
from hypothesis import given, settings
from hypothesis import strategies as st
from long_tests import examples

RECORD = SimpleNamespace(
    name="loom", kind="processes", pid=1, started_at_s=0.0, started_by="script", kernel_id=None, notebook="", script=""
)
HELLO = Hello(2, "c1", "loom", "processes", 0.0)


def fold(cluster_id: str = "c1", *messages) -> ClusterFold:
    made = ClusterFold(SimpleNamespace(**vars(RECORD), id=cluster_id))  # type: ignore[arg-type]
    made.heard_at_s = 100.0
    for message in (HELLO, WorkerJoined(0.0, 0, "w0", 1, 2, 1000), *messages):
        made.apply(message)
    return made


def sample(cpu_percent: float, rss_bytes: int = 100, pressure: Pressure = Pressure.NONE) -> WorkerSamples:
    zeros = [[0]] * 5
    return WorkerSamples(0.0, [0], [cpu_percent], [rss_bytes], *zeros, pressure=[int(pressure)])


def state_of(*folds: ClusterFold, now_s: float = 100.0, starts: tuple[StartState, ...] = ()) -> State:
    return State({each.record.id: each.state(now_s, start=None) for each in folds}, [], [], list(starts), [])


def plain(value: Any) -> Any:
    return json.loads(msgspec.json.encode(value))


def followed(before: State, after: State) -> dict[str, Any]:
    """Return what a reader of `before` makes of the changes, by the words of the contract."""
    known, told = plain(before.whole()), plain(changes(before, after))
    clusters = {cluster["id"]: cluster for cluster in known["clusters"]}
    for name, fields in told.get("clusters", {}).items():
        if fields is None:
            del clusters[name]
        else:
            clusters[name] = {**clusters.get(name, {}), **fields}
    order = told.get("order", [cluster["id"] for cluster in known["clusters"]])
    names = ("recordings", "elsewhere", "starts", "exports", "dashboards", "lost")
    rest = {name: told.get(name, known[name]) for name in names}
    return {"clusters": [clusters[name] for name in order], **rest}


STATES = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from([0.0, 5.0, 90.0])), max_size=3, unique_by=lambda row: row[0]
).map(lambda rows: state_of(*(fold(name, sample(cpu)) for name, cpu in rows)))


@settings(max_examples=examples(45), deadline=None)
@given(STATES, STATES)
def test_a_reader_that_follows_the_changes_knows_the_state(before, after):
    assert followed(before, after) == plain(after.whole())
    assert (changes(before, after) == {}) == (plain(before.whole()) == plain(after.whole()))


def test_only_the_fields_that_changed_are_told():
    cluster = fold()
    before = state_of(cluster)
    cluster.heard_at_s = 101.0
    cluster.apply(WorkerJoined(0.0, 1, "w1", 1, 2, 1000))
    told = changes(before, state_of(cluster))
    assert told == {"clusters": {"c1": {"workers": 2, "threads": 4, "memory_limit_bytes": 2000, "heard_at": 101.0}}}


def test_that_a_cluster_is_alive_and_does_nothing_costs_its_readers_nothing():
    cluster = fold()
    for second in range(60):
        cluster.apply(sample((0.0, 2.0, 4.0, 0.0)[second % 4]))
        cluster.tick(100.0 + second)
        cluster.heard_at_s = 100.0 + second
    before = state_of(cluster, now_s=160.0)
    cluster.heard_at_s = 161.0
    for cpu_percent, rss_bytes in ((3.5, 100), (1.0, 101)):
        cluster.apply(sample(cpu_percent, rss_bytes))
        cluster.tick(161.0)
    assert changes(before, state_of(cluster, now_s=161.0)) == {}
    cluster.apply(sample(95.0))
    cluster.tick(162.0)
    assert changes(before, state_of(cluster, now_s=162.0))["clusters"]["c1"]["cpu_percent"] == 95.0


def test_memory_of_devices_is_told_of_workers_that_have_one_and_each_device_once():
    joined = [
        WorkerJoined(0.0, number, f"w{number}", 1, 1, devices=[uuid], device_total_bytes=[1000])
        for number, uuid in ((1, "u0"), (2, "u1"), (3, "u1"))
    ]
    account = {name: [0, 10, 20, 30] for name in ("device_held_bytes", "device_used_bytes", "device_moved_bytes")}
    sample = WorkerSamples(1.0, [0, 1, 2, 3], [0.0] * 4, *([0] * 4 for _ in range(6)), **account,
                           device_pool_bytes=[0, 40, 50, 60], device_other_bytes=[0, 5, 0, 0])  # fmt: skip
    cluster = fold("c1", *joined, sample)
    assert state_of(cluster).clusters["c1"].device_memory == DeviceMemory(60, 150, 5, 60, 2000)
    assert state_of(fold("c1", sample)).clusters["c1"].device_memory is None


def test_what_a_cluster_takes_beside_its_workers_is_told_anew_when_it_is_another():
    def engine(cpu_percent: float, readers: int = 1) -> EngineSamples:
        return EngineSamples(0.0, 0.004, cpu_percent, 2**26, 9, 2**20, 0, readers)

    quiet = fold("c1")
    assert quiet.state(100.0, start=None).engine is None
    quiet.apply(engine(1.0))
    before = quiet.state(100.0, start=None).engine
    assert before == EngineCost(1.0, 2**26, 2**20, 0, 0.004, 1)
    for cpu_percent in (1.4, 0.6, 1.2):
        quiet.apply(engine(cpu_percent))
    assert quiet.state(101.0, start=None).engine is before
    quiet.apply(engine(1.0, readers=2))
    assert quiet.state(102.0, start=None).engine.readers == 2
    for _ in range(20):
        quiet.apply(engine(90.0, readers=2))
    assert quiet.state(103.0, start=None).engine.cpu_percent == pytest.approx(90.0, rel=0.2)
    quiet.apply(HELLO)  # a new log, which has told nothing yet
    assert quiet.state(104.0, start=None).engine is None


def test_that_the_dashboards_process_has_ended_is_told():
    cost = DashboardsCost(3.0, 2**26)
    before, after = (State({}, [], [], [], [], dashboards) for dashboards in (cost, None))
    assert changes(before, after) == {"dashboards": None}
    assert changes(after, before) == {"dashboards": cost}
    assert changes(after, after) == {}


def test_what_a_process_takes_is_measured_from_the_second_look_on_and_its_end_is_no_error():
    meter = ProcessMeter()
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        assert meter.look(process.pid) is None
        cost = meter.look(process.pid)
        assert cost is not None and cost.memory_bytes > 0 and cost.cpu_percent >= 0
        process.communicate(b"\n")
        assert meter.look(process.pid) is None
    assert meter.look(None) is None


def test_a_gpu_that_is_divided_is_told_as_its_instances():
    def device(number: int, name: str, parent: int = -1) -> GpuDevice:
        unknown = ["not supported"] * 7
        return GpuDevice(number, f"GPU-{number}", name, number, parent, *unknown, "ok", 0.0, "")

    table = gpu_devices(1.0, "580", "", [device(0, "whole"), device(1, "divided"), device(2, "part", 1)])
    told = fold("c1", table).state(100.0, start=None)
    assert [gpu.name for gpu in told.gpus] == ["whole", "part"]


def test_a_cluster_that_says_nothing_is_silent_and_its_histories_stand_still():
    cluster = fold("c1", sample(50.0))
    cluster.tick(100.0)
    assert state_of(cluster, now_s=104.0).clusters["c1"].state == "running"
    cluster.tick(110.0)
    silent = state_of(cluster, now_s=110.0).clusters["c1"]
    assert (silent.state, silent.heard_at, silent.cpu_history) == ("silent", 100.0, [50.0])


def test_a_cluster_of_which_nothing_was_heard_is_starting_and_then_silent():
    cluster = fold()
    cluster.heard_at_s = None
    states = [state_of(cluster, now_s=now_s).clusters["c1"].state for now_s in (2.0, 9.0)]
    assert states == ["starting", "silent"]


def test_a_cluster_is_paused_while_all_its_workers_are():
    assert state_of(fold("c1", sample(1.0, pressure=Pressure.PAUSED))).clusters["c1"].state == "paused"
    assert state_of(fold("c1", sample(1.0, pressure=Pressure.HIGH))).clusters["c1"].state == "running"


def test_times_are_told_by_the_servers_clock():
    runs = Runs([0], ["compute"], ["x"], [""], [""], [""], [""], [90.0], [95.0], ["finished"], [1], [1], [0])
    cluster = fold("c1", Settings(96.0, "loom", [], idle_timeout_s=60.0, idle_since_s=96.0), runs)
    cluster.clock.note(100.0, now_s=3700.0)  # the machine slept for an hour
    told = state_of(cluster, now_s=3700.0).clusters["c1"]
    assert (told.idle_since, told.runs[0].started_at, told.runs[0].ended_at) == (3696.0, 3690.0, 3695.0)
    before = state_of(cluster, now_s=3700.0)
    cluster.clock.note(101.0, now_s=3701.2)
    cluster.clock.note(102.0, now_s=3701.9)
    assert changes(before, state_of(cluster, now_s=3702.0)) == {}, "a message that came faster moves no time"


def test_the_numbers_stay_until_the_stream_that_broke_off_begins_again():
    cluster = fold("c1", sample(50.0, 300))
    assert state_of(cluster).clusters["c1"].workers == 1
    cluster.apply(HELLO)
    assert state_of(cluster).clusters["c1"].workers == 0
