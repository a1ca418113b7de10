"""Which workers of a scheduler that answers are silent."""

from __future__ import annotations

from glassloom.distributed.silent_workers import SilentWorkers


def seen(**times: float) -> dict[str, dict[str, float]]:
    return {address: {"last_seen": at_s} for address, at_s in times.items()}


def test_a_worker_far_behind_the_newest_is_silent_at_once() -> None:
    workers = SilentWorkers()
    workers.note(seen(a=1_000.0, b=985.0, c=995.0), 50.0)
    assert workers.silent(50.0) == {"b": 15.0}
    assert workers.describe(50.0) == "nothing has been heard of the worker at b for 15 s"


def test_one_whose_time_stands_still_is_silent_by_our_clock() -> None:
    workers = SilentWorkers()
    workers.note(seen(a=1_000.0), 50.0)
    workers.note(seen(a=1_000.0), 62.0)
    assert workers.silent(62.0) == {"a": 12.0}
    workers.note(seen(a=1_012.5), 63.0)
    assert workers.silent(63.0) == {} and workers.describe(63.0) == ""


def test_of_many_three_are_named() -> None:
    workers = SilentWorkers()
    workers.note(seen(a=1_000.0, b=900.0, c=900.0, d=900.0, e=900.0), 0.0)
    assert workers.describe(0.0) == (
        "nothing has been heard of the workers at b for 100 s, c for 100 s, d for 100 s and 1 more"
    )


def test_large_clusters_have_longer_heartbeats() -> None:
    workers = SilentWorkers()
    workers.note(seen(new=100.0, old=85.0, **{f"w{number}": 100.0 for number in range(1_000)}), 0.0)
    assert workers.silent(0.0) == {}


def test_a_cluster_without_workers_is_one() -> None:
    workers = SilentWorkers()
    assert not workers.are_none
    workers.note({}, 0.0)
    assert workers.are_none
