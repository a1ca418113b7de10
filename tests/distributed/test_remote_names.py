"""By what workers of dask.distributed are chosen: `WorkerNumbers`."""

from __future__ import annotations

from glassloom.distributed.remote_names import WorkerNumbers

WORKERS = {
    "tcp://10.0.0.1:40": {"name": "tcp://10.0.0.1:40"},
    "tcp://10.0.0.1:41": {"name": 0},
    "tcp://10.0.0.2:40": {"name": "SLURMCluster-0"},
}


def test_numbers_are_names_that_are_whole_numbers_or_the_least_that_are_free() -> None:
    assert WorkerNumbers().of(WORKERS) == {"tcp://10.0.0.1:40": 1, "tcp://10.0.0.1:41": 0, "tcp://10.0.0.2:40": 2}


def test_a_worker_keeps_its_number_while_others_come_and_go() -> None:
    numbers = WorkerNumbers()
    numbers.of(WORKERS)
    remaining = {"tcp://10.0.0.0:1": {"name": "a"}, "tcp://10.0.0.2:40": WORKERS["tcp://10.0.0.2:40"]}
    assert numbers.of(remaining) == {"tcp://10.0.0.0:1": 0, "tcp://10.0.0.2:40": 2}


def test_a_restarted_worker_takes_its_name_up_again() -> None:
    numbers = WorkerNumbers()
    numbers.of({"tcp://a:1": {"name": 0}, "tcp://a:2": {"name": 1}})
    assert numbers.of({"tcp://a:2": {"name": 1}, "tcp://a:3": {"name": 0}}) == {"tcp://a:2": 1, "tcp://a:3": 0}


def test_names_addresses_and_hosts_are_understood_and_others_mean_none() -> None:
    chosen = WorkerNumbers().chosen([2, "0", "tcp://10.0.0.1:40", "10.0.0.1", "nobody", 9], WORKERS)
    assert chosen == {
        2: ["tcp://10.0.0.2:40"],
        "0": ["tcp://10.0.0.1:41"],
        "tcp://10.0.0.1:40": ["tcp://10.0.0.1:40"],
        "10.0.0.1": ["tcp://10.0.0.1:40", "tcp://10.0.0.1:41"],
        "nobody": [],
        9: [],
    }
