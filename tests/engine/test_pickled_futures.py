"""Futures that are pickled: inside functions, arguments and results of tasks, and by hand."""

from __future__ import annotations

import asyncio
import copy
import os
import pickle
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import tasks
from glassloom import Client, Future, LocalCluster, get_client
from glassloom.client import open_clients
from glassloom.errors import CancelledError, ClusterClosed, ForkedError
from glassloom.graph import Handle
from test_client import eventually

N_DROPPED = 100


class Box:
    """An object that isn't looked into."""

    def __init__(self, content: Any) -> None:
        self.content = content


@dataclass
class Named:
    name: str
    future: Any


def open_box(box: Box) -> Any:
    return box.content.result()


def what_is_in(box: Box) -> tuple[bool, str]:
    return isinstance(box.content, Handle), box.content.status


def reading(future: Future) -> Callable[..., Any]:
    """Return a function that reads a future of its closure."""
    return lambda *args: (future.result(), *args)


def raise_value_error() -> None:
    raise ValueError("on purpose")


@pytest.fixture
def other(client: Client) -> Iterator[Client]:
    """Return a second client of the same cluster, newer than the first."""
    with Client(client.cluster, set_as_default=False) as other:
        yield other


@pytest.fixture
def unpickled_by(other: Client, monkeypatch: pytest.MonkeyPatch) -> Client:
    """Return a client that has all futures that are unpickled, as if it were alone in a process."""
    monkeypatch.setattr("glassloom.client.future.client_of", lambda *_: other)
    return other


# In tasks


def test_a_function_may_close_over_a_future(client: Client) -> None:
    future = client.submit(tasks.inc, 1)
    assert client.submit(reading(future)).result(timeout=60) == (2,)
    assert client.gather(client.map(reading(future), range(3))) == [(2, 0), (2, 1), (2, 2)]


def test_a_function_may_close_over_a_dataclass_with_a_future(client: Client) -> None:
    named = Named("n", client.submit(tasks.inc, 1))
    assert client.submit(lambda: (named.name, named.future.result())).result(timeout=60) == ("n", 2)


def test_a_dataclass_in_an_object_keeps_its_future(client: Client) -> None:
    named = Named("n", client.submit(tasks.inc, 1))
    assert client.submit(lambda box: box.content.future.result(), Box(named)).result(timeout=60) == 2


def test_an_object_may_have_a_future_and_its_task_begins_when_that_is_finished(client: Client, tmp_path: Path) -> None:
    future = client.submit(tasks.wait_for, str(tmp_path / "go"))
    task = client.submit(what_is_in, Box(future))
    assert task.status == "pending"
    (tmp_path / "go").touch()
    is_future, status = task.result(timeout=60)
    assert is_future
    assert status in ("pending", "finished")  # the head tells the worker's client
    assert client.submit(open_box, Box(future), key="opened").result(timeout=60) == future.result()


def test_containers_of_other_kinds_may_have_futures(client: Client) -> None:
    futures = deque(client.map(tasks.inc, range(3)))
    read = client.submit(lambda queue: [each.result() for each in queue], futures)
    assert read.result(timeout=60) == [1, 2, 3]


def test_a_large_argument_may_have_a_future(client: Client) -> None:
    box = Box(client.submit(tasks.inc, 1))
    box.padding = b"x" * 200_000  # type: ignore[attr-defined]
    tasks_of_it = client.map(open_box, [box, box], key=["first", "second"])
    del box
    assert client.gather(tasks_of_it) == [2, 2]


def test_keyword_arguments_may_have_futures(client: Client) -> None:
    box = Box(client.submit(tasks.inc, 1))
    futures = client.map(lambda number, box: number + box.content.result(), range(3), box=box)
    del box
    assert client.gather(futures) == [2, 3, 4]


def test_a_task_waits_for_a_future_of_its_own_on_the_only_thread() -> None:
    def outer() -> Any:
        inner = get_client().submit(tasks.inc, 1)
        again = pickle.loads(pickle.dumps(inner))
        nested = get_client().submit(open_box, Box(again))
        return again.result(), nested.result(), again.client is get_client()

    with Client(n_workers=1, threads_per_worker=1, set_as_default=False) as client:
        assert client.submit(outer).result(timeout=60) == (2, 2, True)


def test_a_future_may_be_dropped_right_after_submit(client: Client) -> None:
    results = []
    for number in range(N_DROPPED):
        box = Box(client.submit(tasks.inc, number, pure=False))
        results.append(client.submit(open_box, box, pure=False))
        del box
    assert client.gather(results) == [number + 1 for number in range(N_DROPPED)]


def test_a_function_that_was_pickled_before_still_makes_its_future_a_dependency(client: Client, tmp_path: Path) -> None:
    future = client.submit(tasks.wait_for, str(tmp_path / "go"))
    function = reading(future)
    results = [client.submit(function, number) for number in range(3)]
    del future, function
    (tmp_path / "go").touch()
    assert [result[-1] for result in client.gather(results)] == [0, 1, 2]


def test_nothing_holds_a_future_when_its_function_and_tasks_are_gone(client: Client) -> None:
    future = client.submit(tasks.inc, 1, pure=False)
    key = future.key
    assert client.submit(reading(future)).result(timeout=60) == (2,)
    assert client.submit(open_box, Box(future), pure=False).result(timeout=60) == 2
    del future
    eventually(lambda: key not in client.who_has())


def test_a_task_whose_future_has_failed_fails_alike(client: Client) -> None:
    future = client.submit(raise_value_error)
    with pytest.raises(ValueError, match="on purpose"):
        client.submit(open_box, Box(future)).result(timeout=60)


def test_a_task_whose_future_was_cancelled_is_refused(client: Client, tmp_path: Path) -> None:
    future = client.submit(tasks.wait_for, str(tmp_path / "go"))
    future.cancel()
    eventually(future.cancelled)
    with pytest.raises(Exception, match="which the cluster doesn't know"):
        client.submit(open_box, Box(future)).result(timeout=60)
    (tmp_path / "go").touch()


def test_a_result_may_have_a_future_that_is_held_elsewhere(client: Client, other: Client) -> None:
    future = client.submit(tasks.inc, 1)
    box = client.submit(lambda box: box, Box(future)).result(timeout=60)
    assert (box.content.key, box.content.result(timeout=60)) == (future.key, 2)
    assert box.content.client is client  # the one that holds it, though the other is newer


def test_a_future_of_another_cluster_is_no_dependency_and_its_task_is_told_why(client: Client) -> None:
    with Client(n_workers=1, threads_per_worker=1, set_as_default=False) as stranger:
        future = stranger.submit(tasks.inc, 1)
        with pytest.raises(ClusterClosed, match=f"of cluster '{stranger.name}' can't be unpickled here"):
            client.submit(open_box, Box(future)).result(timeout=60)
        own = client.submit(tasks.inc, 1)
        assert own.key == future.key
        assert client.submit(open_box, Box(own)).result(timeout=60) == 2  # is no task that has failed


# By hand


@pytest.mark.parametrize("pickler", [pickle.dumps, lambda future: pickle.dumps(pickle.loads(pickle.dumps(future)))])
def test_a_round_trip_gives_a_future_of_the_same_key_and_state(client: Client, pickler: Any, tmp_path: Path) -> None:
    finished = client.submit(tasks.inc, 1)
    finished.result(timeout=60)
    failed = client.submit(raise_value_error)
    assert isinstance(failed.exception(timeout=60), ValueError)
    pending = client.submit(tasks.wait_for, str(tmp_path / "go"))
    for future in (finished, failed, pending):
        again = pickle.loads(pickler(future))
        assert (again.key, again.status, again.client) == (future.key, future.status, client)
    (tmp_path / "go").touch()
    assert again.result(timeout=60) == pending.result(timeout=60)


def test_another_client_learns_how_the_task_stands(client: Client, unpickled_by: Client, tmp_path: Path) -> None:
    finished, failed = client.submit(tasks.inc, 1), client.submit(raise_value_error)
    cancelled = client.submit(tasks.wait_for, str(tmp_path / "go"))
    assert finished.result(timeout=60) == 2
    assert isinstance(failed.exception(timeout=60), ValueError)
    data = [pickle.dumps(future) for future in (finished, failed, cancelled)]
    cancelled.cancel()
    eventually(cancelled.cancelled)
    theirs = [pickle.loads(each) for each in data]
    assert [each.client for each in theirs] == [unpickled_by] * 3
    assert theirs[0].result(timeout=60) == 2
    assert isinstance(theirs[1].exception(timeout=60), ValueError)
    with pytest.raises(CancelledError):
        theirs[2].result(timeout=60)
    (tmp_path / "go").touch()


def test_an_unpickled_future_holds_the_result(client: Client, unpickled_by: Client) -> None:
    future = client.submit(tasks.inc, 1, pure=False)
    assert future.result(timeout=60) == 2  # so the head has heard of it
    theirs = pickle.loads(pickle.dumps(future))
    assert theirs.result(timeout=60) == 2
    key = future.key
    del future
    assert theirs.result(timeout=60) == 2
    assert theirs.client is unpickled_by
    del theirs
    eventually(lambda: key not in client.who_has())


OTHER_PROCESS = """
import pickle, sys
from pathlib import Path
from glassloom import Client
data = Path(sys.argv[1]).read_bytes()
try:
    pickle.loads(data)
except Exception as error:
    print(type(error).__name__, error)
with Client(sys.argv[2]) as client:
    future = pickle.loads(data)
    print(future.result(timeout=60), future.client is client)
"""


def test_another_process_needs_a_client_of_the_cluster(client: Client, tmp_path: Path) -> None:
    future = client.submit(tasks.inc, 1)
    (tmp_path / "future").write_bytes(pickle.dumps(future))
    assert future.result(timeout=60) == 2
    arguments = [sys.executable, "-c", OTHER_PROCESS, str(tmp_path / "future"), client.name]
    output = subprocess.run(arguments, capture_output=True, text=True, timeout=300, check=True).stdout
    assert output == (
        f"ClusterClosed the future {future.key!r} of cluster {client.name!r} can't be unpickled here: this process has no "
        f"open client of that cluster; connect first, with Client({client.name!r}), and keep the client until the future "
        "is unpickled\n2 True\n"
    )


def test_a_future_of_a_closed_client_is_not_unpickled() -> None:
    with Client(n_workers=1, threads_per_worker=1, set_as_default=False) as client:
        data = pickle.dumps(client.submit(tasks.inc, 1))
    with pytest.raises(ClusterClosed, match="this process has no open client of that cluster"):
        pickle.loads(data)


def test_a_forked_child_is_told_that_the_client_is_its_parents(client: Client) -> None:
    future = client.submit(tasks.inc, 1)
    assert future.result(timeout=60) == 2
    data = pickle.dumps(future)
    pid = os.fork()
    if not pid:
        try:
            pickle.loads(data)
        except ForkedError:
            os._exit(3)
        finally:
            os._exit(4)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 3


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_a_copy_is_a_future_of_the_same_client_that_holds_by_itself(
    client: Client, other: Client, copied: Callable[[Future], Future]
) -> None:
    future = client.submit(tasks.inc, 1, pure=False)
    again = copied(future)
    assert (again is future, again.key, again.client) == (False, future.key, client)
    future.release()
    assert again.result(timeout=60) == 2


async def unpickled(cluster: LocalCluster) -> tuple[int, bool]:
    async with Client(cluster, asynchronous=True, set_as_default=False) as client:
        future = client.submit(tasks.inc, 1)
        again = pickle.loads(pickle.dumps(future))
        boxed = client.submit(open_box, Box(again))
        return await again + await boxed, again.client is client


def test_an_asynchronous_client_unpickles_without_waiting(client: Client) -> None:
    assert client.cluster is not None
    assert asyncio.run(unpickled(client.cluster)) == (4, True)


def test_the_newest_open_client_gets_a_future_that_none_holds(client: Client) -> None:
    with Client(client.cluster, set_as_default=False) as other:
        assert open_clients.client_of(client.id, client.name, "unknown") is other
    assert open_clients.client_of(client.id, client.name, "unknown") is client


# Before the head has heard of the key

MAKER = """
import os, pickle, sys, time
from pathlib import Path
import tasks
from glassloom import Client
from glassloom.client.outbox import Outbox

folder = Path(sys.argv[1])
send = Outbox._send


def send_late(self, frames):
    (folder / "numbered").touch()
    while not (folder / "go").exists():
        time.sleep(0.01)
        if (folder / "die").exists():
            os._exit(0)
    send(self, frames)


with Client(sys.argv[2]) as client:
    Outbox._send = send_late
    future = client.submit(tasks.inc, 1, key="made")
    (folder / "part").write_bytes(pickle.dumps(future))
    (folder / "part").rename(folder / "future")
    while not (folder / "end").exists():
        time.sleep(0.01)
"""


@pytest.fixture
def pickled_before_sent(client: Client, unpickled_by: Client, tmp_path: Path) -> Iterator[bytes]:
    """Return a future that was pickled by a process which sends its task when there is a file called "go"."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    maker = subprocess.Popen([sys.executable, "-c", MAKER, str(tmp_path), client.name], env=environment)
    try:
        eventually((tmp_path / "future").exists, 60)
        yield (tmp_path / "future").read_bytes()
        for name in ("go", "end"):
            (tmp_path / name).touch()
        assert maker.wait(60) == 0
    finally:
        maker.kill()
        maker.wait()


def unpickled_and_sent(data: bytes, other: Client, client: Client) -> Future:
    """Return the future that `other` unpickles; the head has read what `other` has sent of it, but for what comes last."""
    outbox = other._connection._outbox
    assert outbox is not None
    written_bytes = outbox.written_bytes
    future: Future = pickle.loads(data)
    eventually(lambda: outbox.written_bytes > written_bytes)
    for _ in range(3):  # each is read after what was written before it
        client.who_has()
    return future


def test_a_future_may_be_unpickled_before_the_head_knows_its_task(
    client: Client, unpickled_by: Client, pickled_before_sent: bytes, tmp_path: Path
) -> None:
    theirs = unpickled_and_sent(pickled_before_sent, unpickled_by, client)
    assert (theirs.client, theirs.status) == (unpickled_by, "pending")
    (tmp_path / "go").touch()
    assert theirs.result(timeout=60) == 2


def test_a_task_may_be_submitted_that_needs_a_key_which_the_head_does_not_know_yet(
    client: Client, unpickled_by: Client, pickled_before_sent: bytes, tmp_path: Path
) -> None:
    theirs = unpickled_and_sent(pickled_before_sent, unpickled_by, client)
    direct, boxed = unpickled_by.submit(tasks.inc, theirs), unpickled_by.submit(open_box, Box(theirs))
    assert (direct.status, boxed.status) == ("pending", "pending")
    (tmp_path / "go").touch()
    assert (direct.result(timeout=60), boxed.result(timeout=60)) == (3, 2)


def test_a_future_whose_maker_ended_before_it_sent_the_task_is_cancelled(
    client: Client, unpickled_by: Client, pickled_before_sent: bytes, tmp_path: Path
) -> None:
    theirs = unpickled_and_sent(pickled_before_sent, unpickled_by, client)
    assert theirs.status == "pending"
    (tmp_path / "die").touch()
    with pytest.raises(CancelledError, match="task 'made' was cancelled, or its result was released before"):
        theirs.result(timeout=60)
