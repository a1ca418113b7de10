"""What a cluster does for the panel and the shell: scale, adapt, restart, rename, end when idle."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from typing import Any

import pytest
from fault_helpers import eventually
from glassloom import Client, LocalCluster
from glassloom.cluster import head_process
from glassloom.errors import ClusterClosed, OptionError
from glassloom_metrics.errors import CommandRefused
from glassloom_metrics.protocol import NOW, Settings, WorkerSamples
from glassloom_metrics.recording import hello_of
from glassloom_metrics.registry import find_record, is_alive, read_records
from glassloom_metrics.subscriber import send_command, subscribe


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with LocalCluster(1, 1, name="commanded") as running:
        yield running


def ask(cluster: LocalCluster, command: str, /, **arguments: Any) -> str:
    return asyncio.run(send_command(find_record(cluster.id), command, arguments))


def settings_when(cluster: LocalCluster, wanted) -> Settings:
    """Return the first settings that are wanted; fails if there are none for 20 s."""

    async def read() -> Settings:
        async with asyncio.timeout(60):
            async for message in subscribe(find_record(cluster.id), ["settings"], since=NOW):
                if isinstance(message, Settings) and wanted(message):
                    return message
        raise AssertionError("the cluster has ended")

    return asyncio.run(read())


def wait_for_workers(cluster: LocalCluster, number: int) -> None:
    with Client(cluster, set_as_default=False) as client:
        client.wait_for_workers(number, timeout=60)


def test_a_cluster_tells_what_it_can_be_asked_for_and_how_it_is_set_up(cluster):
    told = settings_when(cluster, lambda settings: True)
    assert told.commands == ["scale", "adapt", "restart", "rename", "shutdown"]
    assert (told.name, told.adaptive_minimum, told.idle_timeout_s) == ("commanded", None, None)
    assert asyncio.run(send_command(cluster.record, "ping")) == "The cluster answers."


def test_scaling_is_answered_at_once_and_done_soon(cluster):
    assert ask(cluster, "scale", n=2) == "The cluster goes from 1 to 2 workers."
    wait_for_workers(cluster, 2)
    assert ask(cluster, "scale", n=2) == "The cluster has 2 workers, as before."
    assert ask(cluster, "scale", n=1) == "The cluster goes from 2 to 1 worker."


def test_adaptive_scaling_is_turned_on_and_off_and_told(cluster):
    outcome = ask(cluster, "adapt", minimum=1, maximum=3)
    assert outcome == "The number of workers follows the work, between 1 and 3."
    told = settings_when(cluster, lambda settings: settings.adaptive_maximum is not None)
    assert (told.adaptive_minimum, told.adaptive_maximum) == (1, 3)
    assert ask(cluster, "adapt").startswith("The number of workers stays at ")
    settings_when(cluster, lambda settings: settings.adaptive_maximum is None)
    ask(cluster, "scale", n=1)


def test_restarting_cancels_tasks_and_replaces_workers(cluster):
    with Client(cluster, set_as_default=False) as client:
        client.wait_for_workers(1, timeout=60)
        held = client.submit(os.getpid)
        before = held.result()
        assert ask(cluster, "restart").startswith("1 worker restarted; all tasks were cancelled")
        while held.status != "cancelled":
            pass
        assert client.submit(os.getpid, pure=False).result(timeout=60) != before


def test_a_renamed_cluster_is_found_by_its_new_name_only(cluster):
    with LocalCluster(0, 1, name="another"), pytest.raises(CommandRefused, match="is called 'another' already"):
        ask(cluster, "rename", name="another")
    assert ask(cluster, "rename", name="Ωmega") == "The cluster 'commanded' is called 'Ωmega' now."
    assert [record.name for record in read_records()] == ["Ωmega"]
    settings_when(cluster, lambda settings: settings.name == "Ωmega")
    with Client("Ωmega", set_as_default=False) as client:
        assert client.submit(abs, -3).result(timeout=60) == 3
    ask(cluster, "rename", name="commanded")


def test_after_a_rename_subscribers_recordings_and_new_workers_carry_the_new_name(cluster, tmp_path):
    ask(cluster, "rename", name="renamed")
    with Client(cluster, set_as_default=False) as client:
        with client.record(tmp_path / "run.glr"):
            ask(cluster, "scale", n=2)
            client.wait_for_workers(2, timeout=60)
        assert any(name.startswith("renamed-") for name in client.scheduler_info()["workers"])
    hello = hello_of(tmp_path / "run.glr")
    assert hello is not None and hello.cluster_name == "renamed"
    ask(cluster, "rename", name="commanded")
    ask(cluster, "scale", n=1)


def test_clients_learn_that_their_cluster_is_renamed_without_asking(cluster):
    with Client(cluster, set_as_default=False) as client:
        ask(cluster, "rename", name="renamed")
        eventually(lambda: client.name == "renamed")
        assert repr(client).startswith("<Client: 'renamed', ")
        assert ">renamed<" in client._repr_html_()
        ask(cluster, "rename", name="commanded")


@pytest.mark.parametrize(
    ("name", "arguments", "why"),
    [
        ("levitate", {}, "cluster 'commanded' doesn't know 'levitate', but 'scale', 'adapt'"),
        ("scale", {"n": -1}, "n=-1 should be a whole number from 0 to 4096"),
        ("scale", {}, "n=None should be a whole number"),
        ("adapt", {"minimum": 3, "maximum": 2}, "minimum=3 is larger than maximum=2"),
        ("adapt", {"minimum": 1, "maximum": 2, "wait_s": "long"}, "wait_s='long' should be a number of seconds"),
        ("rename", {"name": ""}, "name='' should be text"),
        ("rename", {"name": "   "}, "name='   ' should be text of 1 to 200 characters"),
        ("rename", {"name": "loom\u202e"}, "has characters that change the direction of text"),
        ("rename", {"name": "n" * 201}, "should be text of 1 to 200 characters"),
    ],
)
def test_what_has_no_sense_is_refused_in_words(cluster, name, arguments, why):
    with pytest.raises(CommandRefused, match=f"^{why}|{why}"):
        ask(cluster, name, **arguments)


@pytest.mark.parametrize("idle_timeout", [0, -1, "soon"])
def test_an_idle_timeout_that_is_no_time_is_refused(idle_timeout):
    with pytest.raises(OptionError, match="^idle_timeout="):
        LocalCluster(0, 1, idle_timeout=idle_timeout)


NOT_OVER_BEFORE = """
import os
from glassloom.head.idle_timer import IdleTimer
is_over = IdleTimer.is_over
IdleTimer.is_over = lambda timer, now_s: os.path.exists({path!r}) and is_over(timer, now_s)
"""


def test_an_idle_cluster_ends_but_not_while_anybody_holds_a_result(tmp_path, monkeypatch):
    first, last = head_process.BOOTSTRAP.rsplit("main(start", 1)
    code = NOT_OVER_BEFORE.format(
        path=str(tmp_path / "held")
    )  # on a busy machine, it may be idle for long till it is asked
    monkeypatch.setattr(head_process, "BOOTSTRAP", f"{first}{code}main(start{last}")
    with LocalCluster(1, 1, idle_timeout="3 s") as cluster, Client(cluster, set_as_default=False) as client:
        held = client.submit(abs, -3)
        assert held.result(timeout=60) == 3
        (tmp_path / "held").touch()
        told = settings_when(cluster, lambda settings: settings.idle_since_s is None)
        assert told.idle_timeout_s == 3.0

        async def read() -> None:
            async for message in subscribe(cluster.record, ["samples", "settings"], since=NOW):
                if isinstance(message, Settings):
                    assert message.idle_since_s is None
                if isinstance(message, WorkerSamples) and message.at_s > told.at_s + 3.5:
                    return

        asyncio.run(read())
        assert is_alive(cluster.record)
        del held
        cluster.wait()  # the client is connected to the end
        with pytest.raises(ClusterClosed, match=r"it was idle for 3 s, its idle_timeout"):
            client.submit(abs, -4).result(timeout=60)
    assert cluster.id not in [record.id for record in read_records()]
