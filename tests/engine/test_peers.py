"""Who is let in: processes of this user only, at both ends; and when a client counts as gone."""

from __future__ import annotations

import asyncio
import os
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import psutil
import pytest
from fault_helpers import eventually, kill
from glassloom import Client, Lock
from glassloom.client.connection import Connection
from glassloom.errors import ClusterClosed
from glassloom.protocol.options import MemoryLimits, WorkerOptions
from glassloom_metrics.peer import Peer, peer_of, require_own
from glassloom_metrics.subscriber import send_command

NOBODY = 65534
root_only = pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells so")
def test_the_kernel_tells_who_is_at_the_other_end() -> None:
    one, other = socket.socketpair()
    with one, other:
        assert peer_of(one) == require_own(one) == Peer(os.getpid(), os.getuid())


CALL = """
import os, socket, sys
from glassloom_metrics.framing import frame
from glassloom_metrics.protocol import Connect, encode
os.setuid({uid})
connection = socket.socket(socket.AF_UNIX)
connection.connect({path!r})
try:
    connection.sendall(frame(encode(Connect({role!r}, {secret!r}))))
    print(len(connection.recv(100)))
except (ConnectionResetError, BrokenPipeError):
    print(0)
"""


@contextmanager
def open_to_all(path: str) -> Iterator[None]:
    """Let anybody reach a socket: what keeps them out then is not the file system."""
    folders = [Path(path), Path(path).parent, Path(path).parent.parent]
    modes = [stat.S_IMODE(folder.stat().st_mode) for folder in folders]
    for folder in folders:
        folder.chmod(0o777)
    yield
    for folder, mode in zip(folders, modes, strict=True):
        folder.chmod(mode)


@root_only
@pytest.mark.parametrize("role", ["client", "worker", "metrics"])
def test_another_user_is_not_let_in_although_the_socket_is_open_and_the_secret_known(client: Client, role: str) -> None:
    record = client._record

    def answer(uid: int) -> str:
        code = CALL.format(uid=uid, path=record.socket, role=role, secret=record.secret)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
        return done.stdout + done.stderr

    with open_to_all(record.socket):
        assert answer(NOBODY) == "0\n"
        if role != "worker":
            assert int(answer(os.getuid())) > 0
    log = Path(record.directory, "cluster.log").read_text()
    assert "a connection is refused: process " in log and f"belongs to user {NOBODY}, not to 0" in log


LISTEN = """
import os, socket
os.setuid({uid})
listener = socket.socket(socket.AF_UNIX)
listener.bind({path!r})
listener.listen()
print("ready", flush=True)
while True:
    connection = listener.accept()[0]
    print(len(connection.recv(100)), flush=True)
"""


@root_only
def test_nobody_tells_the_secret_to_a_head_of_another_user(client: Client, tmp_path: Path) -> None:
    folder = Path(client._record.socket).parent.parent / "open"
    folder.mkdir()
    path = str(folder / "s")
    with open_to_all(str(folder / "x")[:-2]):
        command = [sys.executable, "-c", LISTEN.format(uid=NOBODY, path=path)]
        impostor = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert impostor.stdout is not None and impostor.stdout.readline() == "ready\n"
        record = msgspec.structs.replace(client._record, socket=path)
        connection = Connection(record)
        with pytest.raises(ClusterClosed, match=f"at the other end belongs to user {NOBODY}, not to 0"):
            connection.open()
        connection.close("it wasn't opened")
        assert impostor.stdout.readline() == "0\n"
        with pytest.raises(PermissionError, match=f"belongs to user {NOBODY}"):
            asyncio.run(send_command(record, "shutdown"))
        assert impostor.stdout.readline() == "0\n"
        impostor.kill()
        impostor.communicate()
    Path(path).unlink()
    folder.rmdir()


def test_a_workers_options_do_not_show_the_secret() -> None:
    options = WorkerOptions(3, "w-3", "/s", "sekret", 1, MemoryLimits(), None, "/d", "p", "id", "name", 1, "/d/w")
    assert "sekret" not in repr(options)


def test_a_record_does_not_show_the_secret(client: Client) -> None:
    assert client._record.secret not in repr(client._record)


HOLDS_A_LOCK = """
import os, sys, time
from glassloom import Client, Lock
client = Client({name!r}, set_as_default=True)
Lock("mine").acquire()
if os.fork() == 0:
    time.sleep(60)
    os._exit(0)
print("held", flush=True)
time.sleep(60)
"""


@pytest.mark.fault("kill -9 of a client that holds a lock and has forked")
def test_a_lock_of_a_client_that_was_killed_is_free_although_its_child_lives(client: Client) -> None:
    holder = subprocess.Popen([sys.executable, "-c", HOLDS_A_LOCK.format(name=client.id)], stdout=subprocess.PIPE)
    assert holder.stdout is not None and holder.stdout.readline() == b"held\n"
    (child,) = psutil.Process(holder.pid).children()
    lock = Lock("mine", client=client)
    assert not lock.acquire(timeout=0.1)
    kill(holder.pid)  # and nobody waits for it: it is a zombie now
    try:
        assert lock.acquire(timeout=60)
        lock.release()
        assert child.is_running()
    finally:
        child.kill()
        holder.communicate()
    eventually(lambda: len(client.run_on_head(lambda head: list(range(head.n_clients)))) == 1)
