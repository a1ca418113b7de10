"""Attaching to a scheduler behind TLS. Scheduler, worker and what is attached are processes."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import distributed
import pytest
from attached import Told, wait_for
from calls import inc
from certificates import certificate, files_of
from free_ports import free_port
from glassloom import Client, cli, config
from glassloom_metrics.registry import find_record

WORKER = ["--nthreads", "1", "--no-nanny", "--no-dashboard"]


@pytest.fixture(scope="module")
def behind_tls(
    own_folders: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, distributed.Security]]:
    """Start a scheduler and a worker, each a process; yield the address, and what a client needs."""
    security = certificate(tmp_path_factory.mktemp("tls"), "right")
    address = f"tls://127.0.0.1:{free_port()}"
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }  # they import the tests' functions
    with ExitStack() as stack:
        for role, options in (("scheduler", ["--host", "127.0.0.1", "--protocol", "tls", "--port", address.rpartition(":")[2], "--no-dashboard"]), ("worker", [address, *WORKER])):  # fmt: skip
            command = [sys.executable, "-m", f"distributed.cli.dask_{role}", *options, *files_of(security, role)]
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
            stack.callback(process.wait)
            stack.callback(process.kill)
        with distributed.Client(address, security=security, timeout=60, set_as_default=False) as client:
            client.wait_for_workers(1, timeout=60)
        yield address, security


@pytest.mark.long
def test_the_command_attaches_through_tls_and_clients_share_it(behind_tls: tuple[str, distributed.Security]) -> None:
    address, security = behind_tls
    command = [sys.executable, "-m", "glassloom", "attach", address, "--json", "--name", "secure", *files_of(security)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        record = find_record(json.loads(process.stdout.readline())["id"])
        assert (record.name, record.address) == ("secure", address)
        with config.set(distributed__attach=True), Client(address, security=security, set_as_default=False) as client:
            assert client.submit(inc, 1).result() == 2
            assert client._link.attached_record(60) == record  # type: ignore[union-attr]
    finally:
        process.send_signal(signal.SIGINT)
        assert "interrupted" in process.communicate(timeout=60)[1]


@pytest.mark.long
def test_a_client_attaches_through_tls_by_itself(behind_tls: tuple[str, distributed.Security]) -> None:
    address, security = behind_tls
    with config.set(distributed__attach=True), Client(address, security=security, set_as_default=False) as client:
        record = client._link.attached_record(60)  # type: ignore[union-attr]
        assert record is not None and record.address == address
        told = Told(record)
        assert client.submit(inc, 1).result() == 2
        wait_for(lambda: [row["name"] for row in told.rows()] == ["inc"], "a row")
    wait_for(lambda: not Path(record.directory).exists(), "it ends with the client")


@pytest.mark.long
@pytest.mark.parametrize(
    ("how", "told"),
    [
        ("other authority", "certificate"),
        ("no files", "needs certificates: --tls-ca-file, --tls-cert and --tls-key.*none are given"),
        ("no such file", "can't be used: .*ca_file .*nowhere.pem"),
        ("no TLS", "do both sides use TLS, or neither"),
    ],
)
def test_wrong_certificates_are_errors_that_say_so(
    behind_tls: tuple[str, distributed.Security],
    tmp_path: Path,
    how: str,
    told: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    address, security = behind_tls
    options = {
        "other authority": lambda: files_of(certificate(tmp_path, "wrong")),
        "no such file": lambda: [*files_of(security), "--tls-ca-file", str(tmp_path / "nowhere.pem")],
    }.get(how, list)()
    assert cli.main(["attach", address.replace("tls", "tcp") if how == "no TLS" else address, *options]) == 1
    assert re.search(told, capsys.readouterr().err)
