"""Debian's Slurm on this machine, in a folder: a controller and one node, which starts several workers. Started as root."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import monotonic, sleep

from free_ports import free_port

_CONFIGURATION = """\
ClusterName=glassloom
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmdPort={node_port}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
ReturnToService=2
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SlurmdParameters=config_overrides
NodeName={host} NodeAddr=127.0.0.1 CPUs=8 RealMemory=16000 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""
_BOUND_S = 120


def can_run() -> bool:
    """Tell whether Slurm is installed and may be started."""
    return os.getuid() == 0 and all(shutil.which(name, path=_path()) for name in ("munged", "slurmctld", "slurmd"))


@contextmanager
def running(folder: Path) -> Iterator[dict[str, str]]:
    """Start Slurm; give the environment variables with which its commands find it. End it, with what it runs."""
    host = socket.gethostname().partition(".")[0]
    for name in ("state", "spool"):
        folder.joinpath(name).mkdir()
    settings = folder / "slurm.conf"
    ports = {"controller_port": free_port(), "node_port": free_port()}
    settings.write_text(_CONFIGURATION.format(folder=folder, host=host, **ports))
    key = folder / "munge.key"
    key.write_bytes(os.urandom(64))
    key.chmod(0o600)
    munge = [
        f"--{name}={folder}/munge.{name.partition('-')[0]}"
        for name in ("key-file", "socket", "pid-file", "log-file", "seed-file")
    ]
    environment = {"SLURM_CONF": str(settings)}
    with ExitStack() as stack:
        for command in (
            ["munged", "--force", "--foreground", *munge],
            ["slurmctld", "-D", "-f", str(settings)],
            ["slurmd", "-D", "-f", str(settings), "-N", host],
        ):
            stack.enter_context(_daemon(command, folder, environment))
        deadline = monotonic() + _BOUND_S
        while "idle" not in (told := _told(["sinfo", "-h", "-o", "%T"], environment)):
            assert monotonic() < deadline, f"Slurm has no node after {_BOUND_S} s: {told} {_logs(folder)}"
            sleep(0.2)
        yield environment


def jobs(environment: dict[str, str]) -> list[str]:
    """Return the names of the jobs that wait or run."""
    return _told(["squeue", "-h", "-t", "PENDING,RUNNING", "-o", "%j"], environment).split()


def _told(command: list[str], environment: dict[str, str]) -> str:
    done = subprocess.run(
        command, env=os.environ | environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    return done.stdout


@contextmanager
def _daemon(command: list[str], folder: Path, environment: dict[str, str]) -> Iterator[None]:
    program = shutil.which(command[0], path=_path())
    assert program is not None
    with open(folder / f"{command[0]}.txt", "wb") as log:
        process = subprocess.Popen(
            [program, *command[1:]], env=os.environ | environment, stdout=log, stderr=subprocess.STDOUT
        )
        try:
            yield
        finally:
            process.terminate()
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _logs(folder: Path) -> str:
    return "\n".join(path.read_text()[-1500:] for path in folder.glob("*.txt"))


def _path() -> str:
    return os.environ["PATH"] + os.pathsep + "/usr/sbin"
