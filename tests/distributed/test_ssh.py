"""A cluster whose processes are started over SSH: a real sshd of this user's, in `make long`."""

from __future__ import annotations

import getpass
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import distributed
import glassloom.array as ga
import psutil
import pytest
from attached import wait_for
from free_ports import free_port
from glassloom import Client

CONFIG = """
Port {port}
ListenAddress 127.0.0.1
HostKey {folder}/host
AuthorizedKeysFile {folder}/user.pub
StrictModes no
UsePAM no
PidFile {folder}/pid
"""


@pytest.fixture
def sshd(tmp_path: Path) -> Iterator[dict[str, Any]]:
    """Run a server that lets this user in by a key; yield how asyncssh connects to it."""
    program = shutil.which("sshd", path=os.environ["PATH"] + ":/usr/sbin")
    assert program is not None, "run tests/distributed/install-batch-systems.sh"
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / name)], check=True)
    if os.getuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)  # it confines itself there
    port = free_port()
    settings = tmp_path / "sshd_config"
    settings.write_text(CONFIG.format(port=port, folder=tmp_path))
    server = subprocess.Popen([program, "-D", "-e", "-f", str(settings)], stderr=(tmp_path / "log").open("w"))
    wait_for(lambda: "Server listening" in (tmp_path / "log").read_text(), "the SSH server doesn't listen")
    try:
        yield {
            "port": port,
            "username": getpass.getuser(),
            "client_keys": [str(tmp_path / "user")],
            "known_hosts": None,
        }
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait()


@pytest.mark.long
def test_a_client_stands_on_a_cluster_over_ssh(sshd: dict[str, Any]) -> None:
    with (
        distributed.SSHCluster(
            ["127.0.0.1"] * 3,
            connect_options=sshd,
            worker_options={"nthreads": 1},
            scheduler_options={"port": 0, "dashboard_address": ":0"},
            remote_python=sys.executable,
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        client.wait_for_workers(2)
        pids = list(client.run(os.getpid).values())
        assert len(set(pids)) == 2 and os.getpid() not in pids
        assert client.compute(ga.ones(1000, chunks=100).sum(), sync=True) == 1000
        kept = client.persist(ga.arange(1000, chunks=100))
        assert client.compute(kept.sum(), sync=True) == 499500
    wait_for(lambda: not any(map(psutil.pid_exists, pids)), "workers run on")
