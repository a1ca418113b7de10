"""A cluster in a job of MPI: a real mpirun, in `make long`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from glassloom import Client, config
from glassloom.client.addresses import default_address
from glassloom.cluster.options import ClusterOptions
from glassloom.distributed import initialize_mpi
from glassloom.errors import ClusterNotFound, OptionError

SCRIPT = str(Path(__file__).parent / "mpi_script.py")


def run(n_ranks: int, *command: str) -> tuple[int, str]:
    """Run a job; return its exit status and what it printed: first all that went to stdout, as mpirun mixes lines."""
    assert shutil.which("mpirun") is not None, "run tests/distributed/install-batch-systems.sh"
    variables = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    done = subprocess.run(
        ["mpirun", "--oversubscribe", "-n", str(n_ranks), *command],
        env=os.environ | variables,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.long
@pytest.mark.parametrize(
    ("how", "status", "told"),
    [
        ("end", 0, ""),
        ("error", 1, "ValueError: the script's own error"),
        ("exit", 3, ""),
        ("interrupt", 130, "KeyboardInterrupt"),
        ("busy", 0, ""),
        ("killed", 137, "signal 9 (Killed)"),
    ],
)
def test_all_ranks_end_with_the_script(how: str, status: int, told: str) -> None:
    found, printed = run(4, sys.executable, SCRIPT, how)
    for line in ("rank of the script 1\n", "pi 3.1\n", "workers 2\n", told):
        assert line in printed, printed
    assert found == status, printed


@pytest.mark.long
def test_too_few_ranks_are_an_error_that_says_how_many_it_takes() -> None:
    status, printed = run(2, sys.executable, SCRIPT, "end")
    assert status == 1 and "initialize_mpi() needs 3 ranks or more" in printed and "there are 2" in printed


@pytest.mark.long
def test_a_worker_that_cannot_start_ends_the_job() -> None:
    code = "from glassloom.distributed import initialize_mpi; initialize_mpi(worker_class='nowhere.Worker')"
    status, printed = run(3, sys.executable, "-c", code)
    assert status == 1 and "worker_class='nowhere.Worker' can't be imported: No module named 'nowhere'" in printed


def test_a_client_connects_where_the_option_says() -> None:
    with config.set({"client.address": "nowhere"}):
        with pytest.raises(ClusterNotFound, match="nowhere"):
            Client()
        assert default_address(ClusterOptions(n_workers=2), False) is None
        assert default_address(ClusterOptions(), True) is None


def test_without_mpi4py_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    monkeypatch.delitem(sys.modules, "glassloom.distributed.mpi", raising=False)
    with pytest.raises(
        OptionError, match=r"initialize_mpi\(\) needs mpi4py, which isn't installed: pip install mpi4py"
    ):
        initialize_mpi()
