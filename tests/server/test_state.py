"""What readers of the stream are told: from any state to any other, whatever they have missed."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import msgspec
from glassloom_metrics.protocol import Hello, Pressure, Runs, Settings, WorkerJoined, WorkerSamples
from glassloom_server.cluster_fold import ClusterFold
from glassloom_server.state import State, changes
from glassloom_server.wire import StartState
from hypothesis import given, settings
from hypothesis import strategies as st

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
    rest = {name: told.get(name, known[name]) for name in ("recordings", "elsewhere", "starts", "exports")}
    return {"clusters": [clusters[name] for name in order], **rest}


STATES = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from([0.0, 5.0, 90.0])), max_size=3, unique_by=lambda row: row[0]
).map(lambda rows: state_of(*(fold(name, sample(cpu)) for name, cpu in rows)))


@settings(max_examples=30, deadline=None)
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
        cluster.apply(sample(2.0))
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
