"""Scripts whose cluster has its directory on a small disk of its own, which can be filled to the last byte."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FOLDERS = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "engine")]
"""Where scripts find the helpers."""

PREAMBLE = """
import glob, os, signal, sys, time
sys.path[:0] = {folders!r}
import numpy as np
import tasks
from fault_helpers import eventually, kill, kill_a_worker, worker_pids
import glassloom
from glassloom import Client, wait
from glassloom.errors import GlassloomError
disk = {disk!r}

def fill():
    "Take every byte that there is."
    with open(disk + "/filler", "ab", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 4096)
        except OSError:
            pass
    assert os.statvfs(disk).f_bavail == 0

def make_room():
    os.unlink(disk + "/filler")
"""


def run_with_small_disk(tmp_path: Path, options: str, script: str, timeout_s: float = 55, **environ: str) -> str:
    """Run a script in a mount namespace in which `tmp_path/disk` is a file system of its own; return what it prints."""
    disk = tmp_path / "disk"
    disk.mkdir()
    try:
        subprocess.run(["unshare", "--mount", "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"only root can mount a file system: {error}")
    mount = f"mount -t tmpfs -o {options} tmpfs {disk}"
    code = PREAMBLE.format(folders=FOLDERS, disk=str(disk)) + script
    command = ["unshare", "--mount", "sh", "-c", f'{mount} && exec "$0" -c "$1"', sys.executable, code]
    variables = [f"{name}={value.format(disk=disk)}" for name, value in environ.items()]
    done = subprocess.run(["env", *variables, *command], capture_output=True, text=True, timeout=timeout_s)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    return done.stdout
