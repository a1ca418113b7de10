"""What importing a package loads, asked of a fresh process: the light ones must stay light."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

JUPYTER = {"IPython", "ipykernel", "jupyter_client", "jupyter_core", "jupyter_server", "jupyterlab"}
HEAVY = {"bokeh", "cudf", "cupy", "dask", "distributed", "numpy", "pandas", "pyarrow", "scipy"}
LOADS_NONE_OF = {
    "glassloom_metrics": HEAVY | JUPYTER | {"glassloom", "jinja2", "tornado"},
    "glassloom": HEAVY | JUPYTER | {"glassloom_dashboards", "glassloom_server", "jinja2", "msgspec", "tornado", "yaml"},
    "glassloom.client": HEAVY | JUPYTER | {"glassloom.head.server", "jinja2", "tornado", "yaml"},
    "glassloom.head.server": HEAVY | JUPYTER | {"glassloom.client", "jinja2", "tornado", "yaml"},
    "glassloom.array": (HEAVY - {"numpy"}) | JUPYTER | {"glassloom.dataframe"},
    "glassloom_dashboards": (HEAVY - {"numpy", "bokeh"}) | JUPYTER | {"glassloom"},
    "glassloom_server": HEAVY | {"glassloom", "IPython", "ipykernel"},
}


def loaded_by(module: str) -> set[str]:
    script = f"import json, sys; import {module}; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300, check=True)
    return set(json.loads(done.stdout))


@pytest.mark.parametrize("module", LOADS_NONE_OF)
def test_importing_a_package_loads_nothing_heavy(module: str) -> None:
    assert sorted(loaded_by(module) & LOADS_NONE_OF[module]) == []


def test_a_loaded_module_is_seen() -> None:
    assert {"numpy", "glassloom"} <= loaded_by("glassloom.array")


def test_glassloom_exports_these_names() -> None:
    script = "import glassloom; print(*sorted(glassloom.__all__)); print(*sorted(n for n in dir(glassloom) if n in glassloom.__all__))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300, check=True)
    expected = (
        "Client Delayed Event Future LocalCUDACluster LocalCluster Lock Queue Semaphore Variable annotate array as_completed bag compute config dataframe datasets default_client "
        "delayed fire_and_forget get get_client get_worker monitor optimize performance_report persist progress record rejoin replay secede visualize wait worker_client"
    )
    assert done.stdout.splitlines() == [expected, expected]


def test_every_exported_name_has_a_docstring() -> None:
    import glassloom

    assert [name for name in glassloom.__all__ if not getattr(glassloom, name).__doc__] == []
