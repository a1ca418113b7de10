"""`Client.cancel_all`: everything that isn't finished is given up, on real processes."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import glassloom as gl
import pytest
import tasks
from fault_helpers import eventually, worker_pids
from glassloom import Client, fire_and_forget
from glassloom.errors import CancelledError


def wait_for_file(path: str, *_: Any) -> str:
    while not os.path.exists(path):
        time.sleep(0.005)
    return path


def n_unfinished(client: Client) -> int:
    counts = client.scheduler_info()["tasks"]
    return sum(counts[state] for state in ("waiting", "ready", "staging", "running"))


def test_all_that_is_not_finished_is_given_up_and_the_rest_stays(client: Client, tmp_path: Path) -> None:
    go = str(tmp_path / "go")
    done = client.submit(abs, -3)
    done.result()
    pids = worker_pids(client)
    slow = [client.submit(wait_for_file, go, number) for number in range(5)]
    above = client.submit(len, slow)
    assert client.cancel_all() == 6
    assert [future.status for future in (*slow, above)] == ["cancelled"] * 6
    assert n_unfinished(client) == 0
    with pytest.raises(CancelledError):
        above.result(timeout=60)
    assert done.result() == 3
    assert worker_pids(client) == pids
    Path(go).touch()
    again = [client.submit(wait_for_file, go, number) for number in range(5)]  # the same keys, at once
    assert client.gather(again) == [go] * 5


def test_many_tasks_that_are_alike_are_given_up_too(client: Client, tmp_path: Path) -> None:
    go = str(tmp_path / "go")
    # A layer of its own: tasks that are known to be short are all sent to the workers at once.
    slow = client.map(wait_for_file, [go] * 300, range(300), key="alike")
    eventually(lambda: client.story(slow[299]).explanation.startswith("ready; no free thread (4 of 4 are taken); "))
    assert client.story(slow[299]).state == "ready"
    assert client.cancel_all() == 300
    assert {future.status for future in slow} == {"cancelled"}
    assert n_unfinished(client) == 0
    Path(go).touch()
    assert client.gather(client.map(wait_for_file, [go] * 300, range(300), key="alike")) == [go] * 300


def test_the_same_cell_runs_again_right_after(client: Client, tmp_path: Path) -> None:
    go = str(tmp_path / "go")
    persisted = client.persist(gl.delayed(wait_for_file)(go))
    client.cancel_all()
    Path(go).touch()
    assert client.persist(gl.delayed(wait_for_file)(go)).compute(scheduler=client) == go
    del persisted


def test_other_clients_tasks_stay_unless_they_are_forced(client: Client, tmp_path: Path) -> None:
    go = str(tmp_path / "go")
    with Client(client.id, set_as_default=False) as other:
        own = client.submit(wait_for_file, go, "own")
        others = other.submit(wait_for_file, go, "others")
        both = [each.submit(wait_for_file, go, "both", key="both") for each in (client, other)]
        fire_and_forget(client.submit(wait_for_file, go, "fired"))
        eventually(lambda: n_unfinished(client) == 4)
        assert client.cancel_all() == 1
        eventually(lambda: [own.status, both[0].status] == ["cancelled", "cancelled"])
        assert (others.status, both[1].status) == ("pending", "pending")
        assert client.cancel_all(force=True) == 3
        eventually(lambda: [others.status, both[1].status] == ["cancelled", "cancelled"])
    Path(go).touch()
    eventually(lambda: n_unfinished(client) == 0)


def test_nothing_to_cancel_is_no_error(client: Client) -> None:
    eventually(lambda: n_unfinished(client) == 0)
    assert client.cancel_all() == 0
    assert client.cancel_all(force=True) == 0
    assert client.submit(tasks.inc, 1, pure=False).result() == 2
