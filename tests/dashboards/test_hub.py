"""Watching clusters: one subscriber each, found again after a cut, kept after the end."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable

import msgspec
import pytest
import synthetic
from glassloom_dashboards.folds import aggregate as aggregate_module
from glassloom_dashboards.folds import deferred, task_table
from glassloom_dashboards.parts import strip
from glassloom_dashboards.parts.strip import notices
from glassloom_dashboards.serving import hub as hub_module
from glassloom_dashboards.serving.hub import MAX_ENDED, Hub, Watched
from glassloom_metrics import publisher
from glassloom_metrics.errors import ClusterNotFound
from glassloom_metrics.open_recordings import RecordingRecord
from glassloom_metrics.protocol import (
    PROTOCOL_VERSION,
    Dropped,
    Errors,
    Hello,
    Layers,
    Life,
    Position,
    Progress,
    WorkerJoined,
    WorkerLeft,
    decode,
    encode,
    task_events,
)
from glassloom_metrics.registry import write_record
from glassloom_metrics.subscriber import subscribe_frames
from synthetic import Shape

FAILURE = Errors([1], [0], ["E"], ["no"], [""], [0], [""], [1], [1.0], [1.0], [["k"]])


async def until(condition: Callable[[], bool], what: str) -> None:
    """Wait for something that other threads or processes bring about."""
    for _ in range(6000):
        if condition():
            return
        await asyncio.sleep(0.01)
    raise AssertionError(f"never came: {what}")


def test_a_cluster_is_complete_even_if_watched_only_after_its_run(publish):
    publish(Shape(tasks=200))

    async def watch():
        hub = Hub()
        watched = hub.watch("c1")
        assert hub.watch("c1") is watched
        assert hub.watch("demo") is watched  # by name
        await until(lambda: len(watched.aggregate.samples) == 2, "the backlog")
        assert watched.aggregate.state == "live"
        await hub.close()
        return watched.aggregate

    aggregate = asyncio.run(watch())
    assert len(aggregate.tasks) == 200
    assert aggregate.task_counts["total"] > 180


def test_what_happens_later_arrives_too(publish):
    cluster = publish(Shape(tasks=0))

    async def watch():
        hub = Hub()
        watched = hub.watch("c1")
        await until(lambda: watched.aggregate.state == "live", "the connection")
        await asyncio.to_thread(cluster.add, Layers([3], ["late"], [1], [""]))
        await until(lambda: 3 in watched.aggregate.layers, "the late layer")
        await hub.close()

    asyncio.run(watch())


def test_an_unknown_cluster_is_not_watched(runtime):
    async def watch():
        with pytest.raises(ClusterNotFound, match="no cluster 'nobody'; running: none"):
            Hub().watch("nobody")

    asyncio.run(watch())


@pytest.mark.fault("the connection to a cluster is lost")
def test_a_lost_connection_is_made_again_and_nothing_counts_twice(publish):
    cluster = publish(Shape(tasks=50))

    async def watch():
        hub = Hub()
        watched = hub.watch("c1")
        await until(lambda: len(watched.aggregate.tasks) == 50, "the backlog")
        await asyncio.to_thread(cluster.drop_connections)
        await until(lambda: watched.aggregate.state == "reconnecting", "the loss")
        await asyncio.to_thread(cluster.add, FAILURE)
        await until(lambda: watched.aggregate.error_count == 1, "what happened meanwhile")
        await asyncio.to_thread(cluster.drop_connections)
        await until(lambda: watched.aggregate.state == "reconnecting", "the second loss")
        await until(lambda: watched.aggregate.state == "live", "the third connection")
        await asyncio.to_thread(cluster.add, Layers([3], ["late"], [1], [""]))
        await until(lambda: 3 in watched.aggregate.layers, "what comes later")
        await hub.close()
        return watched.aggregate

    aggregate = asyncio.run(watch())
    assert (aggregate.generation, len(aggregate.tasks), aggregate.error_count) == (1, 50, 1), "it went on where it was"


@pytest.mark.fault("the beginning of a cluster's log is gone")
def test_a_log_whose_beginning_is_gone_is_shown_as_far_as_it_is_there(publish):
    publish(Shape(tasks=50))

    async def frames(_record, *, since, log_id):
        for message in (Hello(2, "c1", "demo", "processes", 0.0, "log"), Dropped(1, 7), Position(1.0, 8)):
            yield encode(message)
        await asyncio.Event().wait()

    async def watch():
        hub = Hub(frames)
        watched = hub.watch("c1")
        await until(lambda: watched.aggregate.next_frame == 8, "the position")
        await hub.close()
        return watched.aggregate

    aggregate = asyncio.run(watch())
    assert (aggregate.dropped_frames, notices(aggregate)) == (
        7,
        ["The oldest part of this cluster's log is gone, as the log is bounded: what is shown begins later."],
    )


def test_an_ended_cluster_keeps_its_data(publish):
    cluster = publish(Shape(tasks=50))

    async def watch():
        hub = Hub()
        watched = hub.watch("c1")
        await until(lambda: len(watched.aggregate.tasks) == 50, "the backlog")
        await asyncio.to_thread(cluster.stop)
        await until(lambda: watched.aggregate.state == "ended", "the end")
        assert watched.aggregate.ended_reason == "its process has ended"
        assert hub.watch("c1") is watched
        assert len(watched.aggregate.tasks) == 50
        await hub.close()

    asyncio.run(watch())


def test_a_cluster_that_says_it_closes_has_ended_at_once(publish):
    cluster = publish(Shape(tasks=0))

    async def watch():
        hub = Hub()
        watched = hub.watch("c1")
        await asyncio.to_thread(cluster.add, Life(synthetic.STARTED_AT_S + 1, "closing"))
        await until(lambda: watched.aggregate.state == "ended", "the end")
        await hub.close()
        return watched.aggregate.ended_reason

    assert asyncio.run(watch()) == "the cluster was closed"


def test_a_wrong_secret_in_the_record_ends_in_a_clear_reason(publish):
    cluster = publish(Shape(tasks=0))
    fields = {field: getattr(cluster.record, field) for field in cluster.record.__struct_fields__}
    write_record(type(cluster.record)(**fields | {"secret": "wrong"}))

    async def watch():
        hub = Hub()
        watched = hub.watch("c1")
        await until(lambda: watched.aggregate.state == "refused", "the refusal")
        await hub.close()
        return watched.aggregate.ended_reason

    assert "the secret is wrong" in asyncio.run(watch())


@pytest.mark.fault("a message is of a later protocol, or damaged")
def test_a_message_of_a_later_protocol_is_left_out(publish):
    publish(Shape(tasks=10))

    async def watch():
        hub = Hub()
        watched = hub.watch("c1")
        await until(lambda: len(watched.aggregate.tasks) == 10, "the backlog")
        watched.fold(msgspec.msgpack.encode({"type": "from-the-future", "at_s": 1.0}))
        await hub.close()
        return watched

    watched = asyncio.run(watch())
    assert (watched.unknown_messages, watched.aggregate.unreadable_messages, len(watched.aggregate.tasks)) == (1, 0, 10)


@pytest.mark.fault("a message is of a later protocol, or damaged")
@pytest.mark.parametrize(
    "bad",
    [
        Progress(1.0, [0, 1], [1], [0], [0], [0], [0], [0]),
        Layers([7, 8], ["a"], [1], [""]),
        msgspec.structs.replace(task_events(10**9, ["0"]), layer=b"12345"),
    ],
)
def test_a_message_that_cannot_be_read_is_counted_and_the_stream_goes_on(publish, caplog, bad):
    cluster = publish(Shape(tasks=10))

    async def frames(record, *, since, log_id):
        async for payload in subscribe_frames(record, since=since, log_id=log_id):
            yield payload
            if isinstance(decode(payload), Hello):
                yield encode(bad)

    async def watch():
        hub = Hub(frames)
        watched = hub.watch("c1")
        await asyncio.to_thread(cluster.add, Layers([3], ["late"], [1], [""]))
        await until(lambda: 3 in watched.aggregate.layers, "what comes after the bad message")
        await hub.close()
        return watched.aggregate

    aggregate = asyncio.run(watch())
    assert (aggregate.unreadable_messages, aggregate.state, len(aggregate.tasks)) == (1, "live", 10)
    assert "a message of cluster 'demo' is left out, for it cannot be read: " in caplog.text


def test_a_message_that_the_fold_fails_on_is_counted_too(publish, monkeypatch):
    publish(Shape(tasks=0))

    async def watch():
        hub = Hub()
        watched = hub.watch("c1")
        await until(lambda: watched.aggregate.state == "live", "the connection")
        monkeypatch.setattr(watched.aggregate, "apply", lambda message: 1 / 0)
        watched.fold(msgspec.msgpack.encode(Life(1.0, "closing")))
        await hub.close()
        return watched.aggregate.unreadable_messages

    assert asyncio.run(watch()) == 1


@pytest.mark.fault("a cluster speaks an older or newer version of the protocol only")
def test_a_cluster_of_another_version_says_so_with_both_versions(publish, monkeypatch):
    monkeypatch.setattr(publisher, "PROTOCOL_VERSION", 9)
    monkeypatch.setattr(publisher, "agreed_version", lambda version, min_version: None)
    publish(Shape(tasks=0))

    async def watch():
        hub = Hub()
        watched = hub.watch("c1")
        await until(lambda: watched.aggregate.state == "refused", "the refusal")
        await hub.close()
        return watched.aggregate.ended_reason

    assert asyncio.run(watch()) == (
        f"cluster 'demo' speaks version 9 of the metrics protocol; this Glassloom reads {PROTOCOL_VERSION}: upgrade "
        "Glassloom in the environment of the dashboards"
    )


@pytest.mark.fault("the dashboards' own code raises")
def test_a_fault_of_ours_while_following_is_said_on_the_page(publish, caplog):
    publish(Shape(tasks=0))

    async def frames(_record, *, since, log_id):
        yield b""
        raise ZeroDivisionError("made up")

    async def watch():
        hub = Hub(frames)
        watched = hub.watch("c1")
        await until(lambda: watched.aggregate.state == "refused", "the reason")
        await hub.close()
        return watched.aggregate.ended_reason

    assert asyncio.run(watch()) == "the dashboards failed to follow this cluster: ZeroDivisionError('made up')"
    assert "cluster 'demo' is no longer followed" in caplog.text


def test_only_the_latest_ended_clusters_are_kept(publish):
    count = MAX_ENDED + 3
    for number in range(count):
        publish(dataclasses.replace(Shape(tasks=0)), f"c{number}", f"demo-{number}")

    async def watch():
        async def frames(_record, *, since, log_id):
            yield msgspec.msgpack.encode(Life(0.0, "closing"))

        hub = Hub(frames)
        for number in range(count):
            watched = hub.watch(f"c{number}")
            await until(lambda watched=watched: watched.aggregate.state == "ended", "the end")
            await asyncio.sleep(0)
        kept = list(hub._watched)
        await hub.close()
        return kept

    assert asyncio.run(watch()) == [f"c{number}" for number in range(3, count)]


def test_a_log_is_being_read_until_its_cluster_says_that_its_backlog_was_sent(publish):
    publish(Shape(tasks=20))
    seen = []

    async def watch():
        watched = None

        async def frames(record, *, since, log_id):
            async for payload in subscribe_frames(record, since=since, log_id=log_id):
                is_end = isinstance(decode(payload), Position)
                yield payload
                seen.append((is_end, watched.aggregate.is_loading))  # once it is folded

        hub = Hub(frames)
        watched = hub.watch("c1")
        await until(lambda: (True, False) in seen, "the end of the backlog")
        await hub.close()
        return watched.aggregate.is_loading

    assert asyncio.run(watch()) is False
    assert (False, True) in seen and (True, True) not in seen


def test_what_no_page_has_asked_for_is_made_once_the_backlog_is_read(publish, monkeypatch):
    for module in (hub_module, task_table, deferred):
        monkeypatch.setattr(module, "ROWS_AT_ONCE", 100)
    monkeypatch.setattr(task_table, "_BLOCK_ROWS", 50)
    publish(Shape(tasks=1000))

    async def watch():
        hub = Hub()
        aggregate = hub.watch("c1").aggregate
        await until(
            lambda: len(aggregate.tasks) == 1000 and aggregate.tasks.n_behind < 100, "what is made of the backlog"
        )
        await hub.close()

    asyncio.run(watch())


def test_a_cluster_that_is_watched_anew_while_what_was_known_is_summed_up_is_summed_up_too(monkeypatch):
    for module in (hub_module, task_table, deferred):
        monkeypatch.setattr(module, "ROWS_AT_ONCE", 100)
    monkeypatch.setattr(task_table, "_BLOCK_ROWS", 50)
    forgotten, anew = _watched(), _watched()
    for watched in (forgotten, anew):
        watched.fold(encode(task_events(0, ["0"] * 1000, start_s=1.0, duration_s=0.5, ok=1)))

    async def catch_up():
        hub = Hub()
        for watched in (forgotten, anew):
            hub._catch_up_later(watched)
        await until(lambda: anew.aggregate.tasks.n_behind < 100, "what is made of the rows")
        await hub.close()

    asyncio.run(catch_up())


def test_nothing_more_is_summed_up_of_a_recording_that_is_forgotten(runtime, monkeypatch):
    for module in (hub_module, task_table, deferred):
        monkeypatch.setattr(module, "ROWS_AT_ONCE", 100)
    watched = _watched()
    watched.fold(encode(task_events(0, ["0"] * 1000, start_s=1.0, duration_s=0.5, ok=1)))

    async def forget():
        hub = Hub()
        read = asyncio.get_running_loop().create_task(asyncio.sleep(0))
        hub._watched["r1"], hub._tasks["r1"] = watched, read
        await read
        hub._catch_up_later(watched)
        hub._forget_ended()
        await until(lambda: not hub._catching_up, "the end of what is made of the rows")
        await hub.close()

    asyncio.run(forget())
    assert watched.aggregate.tasks.n_behind == 1000


def _watched() -> Watched:
    return Watched(RecordingRecord("r1", "demo", "demo.glr", 0.0, 1, 0.0, 0.0))


def test_what_nobody_looks_at_is_not_made_while_a_backlog_is_read():
    watched = _watched()
    for first in range(0, 20_000, 1000):
        watched.take(encode(task_events(first, ["0"] * 1000, start_s=1.0, duration_s=0.5, ok=1)))
    watched.settle()
    tasks = watched.aggregate.tasks
    assert [fold.row for fold in tasks.deferred.values()] == [0, 0, 0]
    assert watched.aggregate.durations[0].count == tasks.next_row == 20_000
    assert tasks.deferred["durations"].row == 20_000


def test_task_events_left_for_later_are_folded_before_what_says_something_of_them():
    watched = _watched()
    events = [task_events(0, ["0"], worker=1), task_events(1, ["1"], worker=1)]
    for message in (WorkerJoined(0.0, 1, "w", 1, 1, 1), events[0], Position(5, 0), events[1]):
        watched.take(encode(message))
    assert (len(watched.aggregate.tasks), watched.is_unsettled) == (0, True)
    watched.take(encode(WorkerLeft(9.0, 1, "lost")))
    assert (len(watched.aggregate.tasks), watched.is_unsettled) == (2, False)


def test_one_bad_message_among_those_folded_together_is_left_out_alone(monkeypatch):
    watched = _watched()
    good, bad = task_events(0, ["0"]), task_events(1, ["1"], nbytes=5)
    add = watched.aggregate.add_events

    def fail_on_bad(messages):
        if any(message.nbytes == 5 for message in messages):
            raise ValueError("bad")
        add(messages)

    monkeypatch.setattr(watched.aggregate, "add_events", fail_on_bad)
    for message in (good, bad):
        watched.take(encode(message))
    watched.settle()
    assert (len(watched.aggregate.tasks), watched.aggregate.unreadable_messages) == (1, 1)


def test_what_the_fold_fails_on_costs_no_sums_or_is_counted(monkeypatch):
    watched = _watched()
    messages = [encode(task_events(first, ["0"], start_s=1.0, duration_s=0.5, ok=1)) for first in range(5)]

    def fold(*payloads: bytes) -> tuple[int, int, int]:
        for payload in payloads:
            watched.take(payload)
        watched.settle()
        aggregate = watched.aggregate
        return aggregate.tasks.next_row, aggregate.sums.computed.count, aggregate.unreadable_messages

    def fail(*_: object) -> None:
        raise ValueError("made up")

    with monkeypatch.context() as before_the_rows_are_there:
        before_the_rows_are_there.setattr(aggregate_module, "event_sums", fail)
        assert fold(*messages[:2]) == (0, 0, 2)
    with monkeypatch.context() as when_they_are_there:
        when_they_are_there.setattr(watched.aggregate.running, "end", fail)
        assert fold(*messages[2:4]) == (2, 2, 3)
    assert fold(messages[4]) == (3, 3, 3)
    assert watched.aggregate.lost_events == 2


def test_a_page_says_how_much_of_a_long_history_has_been_read_until_all_has(publish, monkeypatch):
    monkeypatch.setattr(strip, "MANY_EVENTS", 3)
    publish(Shape(tasks=5))
    go_on = asyncio.Event()

    async def frames(_record, *, since, log_id):
        yield encode(Hello(2, "c1", "demo", "processes", 0.0, "log"))
        for first in (0, 2, 4):
            yield encode(task_events(first, ["a", "b"], start_s=1.0, duration_s=0.5, ok=1))
        await go_on.wait()
        yield encode(Position(1.0, 4))
        await asyncio.Event().wait()

    async def watch():
        hub = Hub(frames)
        aggregate = hub.watch("c1").aggregate
        shown = strip.Strip(aggregate, full=False)
        await until(lambda: aggregate.tasks.next_row == 6, "the events")
        shown.update(0.0)
        while_reading = shown.div.text
        go_on.set()
        await until(lambda: not aggregate.is_loading, "the end of the backlog")
        shown.update(0.1)
        await hub.close()
        return while_reading, shown.div.text

    while_reading, then = asyncio.run(watch())
    assert "Reading what happened before: 6 task events so far." in while_reading
    assert "Reading" not in then and "live" in then
