"""`Client.register_plugin`: objects that are set up on every worker and torn down at its end, on real processes."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import tasks
from fault_helpers import eventually, kill_a_worker, start_over, worker_pids
from glassloom import Client, LocalCluster, get_worker
from glassloom.errors import OptionError, SerialisationError
from leaks import Watch

pytestmark = pytest.mark.usefixtures("imports_preloaded")


class Noting:
    """Writes down in a folder what is called, with the worker's process."""

    def __init__(self, folder: Path, text: str = "") -> None:
        self.folder = folder
        self.text = text

    def setup(self, worker: Any) -> None:
        worker.noted = self.text
        (self.folder / f"setup-{os.getpid()}{self.text}").touch()

    def teardown(self, worker: Any) -> None:
        (self.folder / f"teardown-{worker.pid}{self.text}").touch()


@pytest.fixture(scope="module")
def of_module(nothing_is_left_behind: Watch) -> Iterator[Client]:
    with LocalCluster(1, 1) as cluster, Client(cluster, set_as_default=False) as client:
        yield client


@pytest.fixture
def own(of_module: Client, monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    """Return the client of a cluster of one worker; what the test registers is unregistered after it."""
    start_over(of_module, 1)
    names: list[str] = []
    monkeypatch.setattr(of_module, "register_plugin", _noted(of_module.register_plugin, names))
    yield of_module
    start_over(of_module, 1)
    for name in names:
        with suppress(OptionError):  # the test has unregistered it
            of_module.unregister_plugin(name)


def _noted(register: Callable[..., str], names: list[str]) -> Callable[..., str]:
    def register_and_note(*arguments: Any, **options: Any) -> str:
        names.append(register(*arguments, **options))
        return names[-1]

    return register_and_note


def noted(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_plugin_is_set_up_on_every_worker_and_on_later_ones_and_torn_down_at_their_end(tmp_path: Path) -> None:
    with LocalCluster(1, 1) as cluster, Client(cluster, set_as_default=False) as client:
        (first,) = worker_pids(client)
        name = client.register_plugin(Noting(tmp_path))
        assert name.startswith("Noting-")
        assert noted(tmp_path) == [f"setup-{first}"]
        cluster.scale(2)
        assert client.run(lambda: get_worker().noted) == {f"{client.name}-0": "", f"{client.name}-1": ""}
        second = next(pid for pid in worker_pids(client) if pid != first)
        assert noted(tmp_path) == sorted([f"setup-{first}", f"setup-{second}"])
        client.retire_workers([0])
        assert f"teardown-{first}" in noted(tmp_path)
        assert f"teardown-{second}" not in noted(tmp_path)
    assert f"teardown-{second}" in noted(tmp_path)


def test_a_plugin_that_is_unregistered_is_torn_down_and_not_set_up_again(own: Client, tmp_path: Path) -> None:
    (pid,) = worker_pids(own)
    assert own.register_plugin(Noting(tmp_path), name="notes") == "notes"
    own.unregister_plugin("notes")
    assert noted(tmp_path) == sorted([f"setup-{pid}", f"teardown-{pid}"])
    own.restart()
    assert own.submit(tasks.inc, 1).result() == 2
    assert len(noted(tmp_path)) == 2
    own.register_plugin(Noting(tmp_path), name="other")
    with pytest.raises(OptionError, match="name='notes': no such plugin is registered; there are: 'other'"):
        own.unregister_plugin("notes")


def test_a_plugin_of_the_same_name_takes_the_others_place(own: Client, tmp_path: Path) -> None:
    (pid,) = worker_pids(own)
    own.register_plugin(Noting(tmp_path, "-1"), name="notes")
    own.register_plugin(Noting(tmp_path, "-2"), name="notes")
    assert noted(tmp_path) == sorted([f"setup-{pid}-1", f"teardown-{pid}-1", f"setup-{pid}-2"])


def test_a_restart_tears_plugins_down_and_the_new_workers_set_them_up(own: Client, tmp_path: Path) -> None:
    own.register_plugin(Noting(tmp_path))
    (first,) = worker_pids(own)
    begun = tmp_path / "begun"
    future = own.submit(tasks.begin_and_wait, str(begun), str(tmp_path / "never"), 1)
    eventually(begun.exists)
    begun.unlink()
    own.restart()  # doesn't wait for tasks
    assert future.cancelled()
    (second,) = worker_pids(own)
    assert list(own.run(lambda: get_worker().noted).values()) == [""]
    assert noted(tmp_path) == sorted([f"setup-{first}", f"teardown-{first}", f"setup-{second}"])


def test_a_worker_that_is_let_go_by_scaling_down_tears_plugins_down(tmp_path: Path) -> None:
    with LocalCluster(2, 1) as cluster, Client(cluster, set_as_default=False) as client:
        client.register_plugin(Noting(tmp_path))
        before = worker_pids(client)
        cluster.scale(1)
        (left,) = worker_pids(client)
        (gone,) = set(before) - {left}
        assert noted(tmp_path) == sorted([*(f"setup-{pid}" for pid in before), f"teardown-{gone}"])


@pytest.mark.long
def test_a_restart_does_not_wait_long_for_a_teardown(own: Client, tmp_path: Path) -> None:
    endless = tmp_path / "endless"
    endless.touch()
    own.register_plugin(Slow(endless))
    (first,) = worker_pids(own)
    own.restart()
    endless.unlink()
    assert worker_pids(own) != [first]


@pytest.mark.fault("kill a worker that has a plugin")
def test_the_worker_that_takes_a_killed_ones_place_sets_the_plugin_up(own: Client, tmp_path: Path) -> None:
    own.register_plugin(Noting(tmp_path))
    kill_a_worker(own)
    assert own.submit(lambda: get_worker().noted, pure=False).result(timeout=60) == ""
    assert len([name for name in noted(tmp_path) if name.startswith("setup")]) == 2


class FailsOnOne:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def setup(self, worker: Any) -> None:
        if worker.number == 1:
            raise ValueError("not here")
        (self.folder / f"setup-{worker.number}").touch()

    def teardown(self, worker: Any) -> None:
        (self.folder / f"teardown-{worker.number}").touch()


def test_what_setup_raises_is_raised_and_the_plugin_is_gone_everywhere(tmp_path: Path) -> None:
    with LocalCluster(2, 1) as cluster, Client(cluster, set_as_default=False) as client:
        with pytest.raises(ValueError, match="not here"):
            client.register_plugin(FailsOnOne(tmp_path), name="fails")
        assert noted(tmp_path) == ["setup-0", "teardown-0"]
        with pytest.raises(OptionError, match="no such plugin is registered; there are: none"):
            client.unregister_plugin("fails")


def test_what_setup_raises_on_a_later_worker_is_shown(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with LocalCluster(1, 1) as cluster, Client(cluster, set_as_default=False) as client:
        client.register_plugin(FailsOnOne(tmp_path), name="fails-later")
        cluster.scale(2)
        seen: list[str] = []
        eventually(lambda: seen.append("".join(capfd.readouterr())) or "ValueError: not here" in "".join(seen))
        assert len(client.run(os.getpid)) == 2  # the worker works all the same


class Slow:
    """Its teardown lasts as long as a file is there."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def teardown(self, worker: Any) -> None:
        while self.path.exists():
            time.sleep(0.01)


class Raises:
    def teardown(self, worker: Any) -> None:
        raise SystemExit("teardown")


@pytest.mark.long
def test_a_teardown_that_does_not_end_or_raises_keeps_no_worker_from_ending(tmp_path: Path) -> None:
    endless = tmp_path / "endless"
    endless.touch()
    with LocalCluster(1, 1) as cluster, Client(cluster, set_as_default=False) as client:
        client.register_plugin(Slow(endless))
        client.register_plugin(Raises())
        client.retire_workers([0])
        assert client.scheduler_info()["workers"] == {}


@pytest.mark.parametrize(
    ("plugin", "reason"),
    [
        (Noting, "is a class: register an object of it, Noting"),
        (3, "has neither a method setup.worker. nor teardown.worker."),
        (lambda: None, "use register_worker_callbacks"),
    ],
)
def test_what_is_no_plugin_is_refused(client: Client, plugin: Any, reason: str) -> None:
    with pytest.raises(OptionError, match=reason):
        client.register_plugin(plugin)


def test_a_plugin_that_does_not_pickle_is_refused(client: Client, tmp_path: Path) -> None:
    plugin = Noting(tmp_path)
    plugin.lock = threading.Lock()  # type: ignore[attr-defined]
    with pytest.raises((SerialisationError, TypeError), match="lock"):
        client.register_plugin(plugin, name="lock")
