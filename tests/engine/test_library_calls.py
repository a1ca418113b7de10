"""What the engine calls of nvidia-ml-py, and of CuPy, RMM and cuDF where they are installed, is there and takes these arguments."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import library_calls
import pytest

ENGINE = Path(__file__).parents[2] / "engine/glassloom"


def test_all_calls_of_nvidia_ml_py_fit():
    assert library_calls.problems("pynvml") == []


def test_the_list_has_all_that_is_called_of_nvidia_ml_py():
    sources = [ENGINE / "sampling/nvml.py", ENGINE / "cluster/cuda_devices.py"]
    found = {
        name for path in sources for name in re.findall(r"\bn?v?ml?\.?(nvml[A-Z]\w+|NVML_[A-Z]\w+)", path.read_text())
    }
    quoted = {name for path in sources for name in re.findall(r'"(NVML_\w+)"', path.read_text())}
    listed = {re.split(r"[(.]", call)[0] for call in library_calls.CALLS["pynvml"]}
    ours = {"nvmlReturn", "nvmlValueType_t", "NVML_DEADLINE_S"}
    assert (found | quoted) - ours <= listed


def test_the_list_has_all_memory_resources_of_rmm():
    text = (ENGINE / "devices/cuda_process.py").read_text()
    listed = {call.partition("(")[0] for call in library_calls.CALLS["rmm"]}
    assert {f"mr.{name}" for name in re.findall(r"\bmr\.(\w+)\(", text)} <= listed


@pytest.mark.parametrize(
    ("call", "told"),
    [
        ("nvmlDeviceGetName(handle, more)", "it takes handle"), ("nvmlDeviceGetClockInfo(handle)", "it takes handle, type"), ("nvmlFrobnicate(handle)", "No module named"),
        ("nvmlDeviceGetMemoryInfo(handle, release=2)", "it takes handle, version"), ("c_nvmlMemory_t.spare", "no attribute"),
    ],
)  # fmt: skip
def test_a_call_that_does_not_fit_is_found(monkeypatch, call, told):
    monkeypatch.setitem(library_calls.CALLS, "pynvml", [call])
    (problem,) = library_calls.problems("pynvml")
    assert told in problem


@pytest.mark.parametrize("module", ["cupy", "cupyx", "rmm", "cudf"])
def test_all_calls_of_cuda_libraries_fit_where_they_are_installed(module):
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"{module} isn't installed; python tests/shared/library_calls.py needs no GPU")
    code = f"import library_calls; print(library_calls.problems({module!r}))"
    environment = {**os.environ, "RAPIDS_NO_INITIALIZE": "1", "PYTHONPATH": str(Path(library_calls.__file__).parent)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr
