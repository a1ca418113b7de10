"""Jupyter's server loads the extension, never the engine or what it needs."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.fixture(scope="module")
def loaded_modules() -> set[str]:
    code = "import glassloom_server, sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize("heavy", ["glassloom", "glassloom_dashboards", "numpy", "pandas", "pyarrow", "bokeh", "cupy"])
def test_the_extension_does_not_load(loaded_modules, heavy):
    assert "glassloom_server.proxy" in loaded_modules
    assert heavy not in loaded_modules
