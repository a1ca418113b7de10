"""`make setup`, and with it `make lab`, does nothing when there is nothing to do; `make test-pandas2` and its like have their own pandas."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = ("Makefile", "pyproject.toml", "constraints.txt", "labextension/package.json", "labextension/yarn.lock")
FOLDERS = ("jupyter-config", "labextension/src", "labextension/style", "labextension/schema")
OLD_S, NEW_S = 1_000_000_000, 1_000_000_100


def has_work(root: Path) -> bool:
    command = ["make", "--question", "setup", f"UV={sys.executable}"]  # any program that is there
    status = subprocess.run(command, cwd=root, capture_output=True, check=False).returncode
    assert status in (0, 1)
    return status == 1


def test_setup_runs_again_only_after_its_sources_changed(tmp_path: Path) -> None:
    for name in FILES:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    for name in FOLDERS:
        shutil.copytree(ROOT / name, tmp_path / name)
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.touch()
    for path in tmp_path.rglob("*"):
        os.utime(path, (OLD_S, OLD_S))
    assert has_work(tmp_path)
    stamp = tmp_path / ".venv" / ".set-up"
    stamp.touch()
    os.utime(stamp, (NEW_S, NEW_S))
    assert not has_work(tmp_path)
    (tmp_path / "labextension" / "src" / "index.ts").touch()
    assert has_work(tmp_path)


def printed(*arguments: str) -> str:
    """Return the commands that make would run, also where make runs this test, which it says to the makes that it starts."""
    command = ["make", "--dry-run", "--always-make", *arguments, f"UV={sys.executable}", "PYTEST_ARGS="]
    env = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=True).stdout.rstrip()


@pytest.mark.parametrize(("name", "requirement"), [("pandas2", "pandas>=2.3.3,<3"), ("pandas30", "pandas>=3.0.6,<3.1")])
def test_frames_are_tested_with_other_versions_of_pandas(name: str, requirement: str) -> None:
    found = printed(f"test-{name}")
    assert f'"{requirement}" -e ".[test]"' in found
    assert found.endswith("tests/dataframe tests/expr") and f".venv-{name}/bin:" in found


def test_what_needs_a_gpu_has_a_pandas_that_cudf_takes() -> None:
    """`constraints.txt` names one that it doesn't."""
    found = printed("test-gpu", "CUDA_EXTRA=cuda13")
    assert '-c .venv-gpu/constraints.txt "pandas>=3,<3.1" -e ".[test,cuda13]"' in found
    assert found.endswith("pytest -m gpu tests/gpu") and ".venv-gpu/bin:" in found
