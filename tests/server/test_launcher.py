"""Starting a cluster's process: which Python, which command, and what happens when it hangs."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import psutil
import pytest
from glassloom_server import launcher
from glassloom_server.errors import ClusterStartError, KernelUnsuitable
from glassloom_server.launcher import Interpreter, KernelInterpreters, launch_cluster, start_command
from glassloom_server.wire import StartRequest
from limits_by_event import limit_until


def interpreters(argv: list[str], env: dict[str, str] | None = None) -> KernelInterpreters:
    spec = SimpleNamespace(argv=argv, language="python", env=env or {}, resource_dir="/spec")
    return KernelInterpreters(specs=SimpleNamespace(get_kernel_spec=lambda name: spec), default_kernel_name="python3")


@pytest.mark.parametrize("name", ["python", "python3", f"python3.{sys.version_info.minor}"])
def test_a_kernel_that_runs_plain_python_gets_jupyters_own(name):
    assert interpreters([name]).find(None) == Interpreter((sys.executable,), {})


def test_a_kernel_with_an_interpreter_of_its_own_keeps_it_with_its_environment():
    found = interpreters(["/envs/gpu/bin/python"], {"CUDA_VISIBLE_DEVICES": "1"}).find(None)
    assert found == Interpreter(("/envs/gpu/bin/python",), {"CUDA_VISIBLE_DEVICES": "1"})


def test_variables_in_a_kernels_environment_are_replaced_as_for_kernels(monkeypatch):
    monkeypatch.setenv("HERE", "/usr/bin")
    found = interpreters(["/envs/gpu/bin/python"], {"PATH": "/opt/bin:${HERE}", "PRICE": "$5 ${NOT_SET}"}).find(None)
    assert found.environment == {"PATH": "/opt/bin:/usr/bin", "PRICE": "$5 ${NOT_SET}"}


IPYKERNEL = ["-m", "ipykernel_launcher", "-f", "{connection_file}"]


@pytest.mark.parametrize(
    ("argv", "command"),
    [
        (["python", *IPYKERNEL], [sys.executable]),
        (["/envs/a/bin/python", "-Xfrozen_modules=off", *IPYKERNEL], ["/envs/a/bin/python", "-Xfrozen_modules=off"]),
        (["/usr/bin/env", "A=1", "python3", *IPYKERNEL], ["/usr/bin/env", "A=1", "python3"]),
        (
            ["/opt/python", "-m", "nb_conda_kernels.runner", "/opt", "/opt/envs/a", "python", *IPYKERNEL],
            ["/opt/python", "-m", "nb_conda_kernels.runner", "/opt", "/opt/envs/a", "python"],
        ),
        (["{resource_dir}/run.sh", "{prefix}/bin/python", *IPYKERNEL], ["/spec/run.sh", f"{sys.prefix}/bin/python"]),
    ],
    ids=["plain", "options", "env", "nb_conda_kernels", "templates"],
)
def test_what_wraps_a_kernels_python_wraps_its_clusters(argv, command):
    assert list(interpreters(argv).find(None).command) == command


def test_a_kernel_whose_python_cannot_be_told_is_refused():
    with pytest.raises(KernelUnsuitable, match="runs '/envs/a/bin/xpython -f x': which Python that is can't be told"):
        interpreters(["/envs/a/bin/xpython", "-f", "x"]).find("xpython")


def test_what_is_not_asked_for_is_left_to_the_engine():
    assert start_command(["py"], StartRequest()) == [
        "py",
        "-m",
        "glassloom",
        "cluster",
        "start",
        "--json",
        "--detach",
        "--started-by=panel",
    ]


async def test_a_command_that_is_given_up_may_end_the_cluster_that_it_was_starting(fake_python, tmp_path, monkeypatch):
    begun, ended = tmp_path / "begun", tmp_path / "ended"
    code = f"""
try:
    open({str(begun)!r}, "w").close()
    time.sleep(60)
except KeyboardInterrupt:
    open({str(ended)!r}, "w").close()
"""
    monkeypatch.setattr(launcher, "time_limit", limit_until(begun.exists, of_s=5))
    with pytest.raises(ClusterStartError, match="^no cluster after 5 s$"):
        await launch_cluster(Interpreter((fake_python(code),)), StartRequest(), directory=str(tmp_path), timeout_s=5)
    assert ended.exists()


async def test_a_process_that_never_gets_ready_is_ended(fake_python, tmp_path, monkeypatch):
    begun = tmp_path / "begun"
    says = f"print('still thinking', file=sys.stderr, flush=True); open({str(begun)!r}, 'w').write(str(os.getpid())); time.sleep(60)"
    monkeypatch.setattr(launcher, "time_limit", limit_until(lambda: begun.exists() and begun.read_text(), of_s=5))
    with pytest.raises(ClusterStartError, match="^no cluster after 5 s:\nstill thinking$"):
        await launch_cluster(Interpreter((fake_python(says),)), StartRequest(), directory=str(tmp_path), timeout_s=5)
    assert not psutil.pid_exists(int(begun.read_text()))
