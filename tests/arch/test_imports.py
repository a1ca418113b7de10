"""The import arrows of DESIGN.md: who may import whom, wherever in a module the import is written."""

from __future__ import annotations

import sys

import pytest
from imports import PACKAGES, Import, cycles, imports, imports_in, is_inside, modules

OURS = tuple(PACKAGES)
STANDARD = frozenset(sys.stdlib_module_names)

THIRD_PARTY = {
    "glassloom_metrics": {"msgspec", "psutil"},
    "glassloom": {
        "cloudpickle", "jinja2", "markupsafe", "msgpack", "msgspec", "numpy", "pandas", "psutil", "pyarrow", "pynvml", "tblib",
        "cupy", "cupyx", "cudf", "torch", "dask", "distributed", "joblib", "mpi4py", "polars", "threadpoolctl", "fsspec", "rmm", "ipykernel", "traitlets", "IPython", "h5py", "scipy", "sqlalchemy", "xarray", "yaml", "zarr",
    },
    "glassloom_dashboards": {"bokeh", "jinja2", "markupsafe", "numpy", "tornado"},
    "glassloom_server": {
        "jupyter_client", "jupyter_server", "jupyter_server_proxy", "msgspec", "psutil", "tornado", "traitlets",
    },
}  # fmt: skip

FIRST_PARTY = {
    "glassloom_metrics": {"glassloom_metrics"},
    "glassloom": {"glassloom", "glassloom_metrics"},
    "glassloom_dashboards": {"glassloom_dashboards", "glassloom_metrics"},
    "glassloom_server": {"glassloom_server", "glassloom_metrics"},
}

PROCESS = (
    "glassloom._allocators",
    "glassloom._ownership",
    "glassloom._process_title",
    "glassloom._supervision",
    "glassloom._waiting",
)
"""What every part that owns a thread, a socket or a process may import."""

INSIDE_GLASSLOOM = {
    "glassloom.errors": (),
    "glassloom.units": ("glassloom.errors",),
    "glassloom.config": ("glassloom.config", "glassloom.errors", "glassloom.units"),
    "glassloom._allocators": (),
    "glassloom._gc": (),
    "glassloom._text": (),
    "glassloom._names": ("glassloom.errors",),
    "glassloom._users_functions": (),
    "glassloom._supervision": (),
    "glassloom._waiting": (),
    "glassloom._process_title": (),
    "glassloom._ownership": ("glassloom.errors",),
    "glassloom.graph": ("glassloom._text", "glassloom.errors", "glassloom.graph"),
    "glassloom.backends": ("glassloom.backends", "glassloom.errors", "glassloom.graph"),
    "glassloom.devices": ("glassloom.backends", "glassloom.devices", "glassloom.errors", "glassloom.units"),
    "glassloom.scheduler": ("glassloom.errors", "glassloom.graph", "glassloom.scheduler"),
    "glassloom.sampling": ("glassloom._gc", "glassloom.graph.run_info", "glassloom.sampling", "glassloom.scheduler"),
    "glassloom.store": ("glassloom._text", "glassloom.backends", "glassloom.devices", "glassloom.errors", "glassloom.store"),
    "glassloom.reprs": (*PROCESS, "glassloom.errors", "glassloom.reprs", "glassloom.units"),
    "glassloom.expr": (
        "glassloom.backends", "glassloom.config", "glassloom._gc", "glassloom.errors", "glassloom.expr", "glassloom.graph",
    ),
    "glassloom.protocol": (
        "glassloom._names", "glassloom._text", "glassloom.backends", "glassloom.config", "glassloom.errors", "glassloom.graph", "glassloom.protocol", "glassloom.sampling.taken_samples", "glassloom.store", "glassloom.units",
    ),
    "glassloom.local": (
        *PROCESS, "glassloom._text", "glassloom.backends", "glassloom.config", "glassloom._gc", "glassloom.errors", "glassloom.graph", "glassloom.local", "glassloom.protocol",
        "glassloom.sampling", "glassloom.scheduler",
    ),
    "glassloom.worker": (
        *PROCESS, "glassloom._gc", "glassloom._text", "glassloom.backends", "glassloom.devices", "glassloom.errors", "glassloom.graph", "glassloom.local.default",
        "glassloom.local.synchronous", "glassloom.protocol", "glassloom.sampling.process", "glassloom.sampling.stack_sampler",
        "glassloom.sampling.task_stacks", "glassloom.scheduler", "glassloom.store", "glassloom.units", "glassloom.worker",
    ),
    "glassloom.head": (
        *PROCESS, "glassloom._names", "glassloom.errors", "glassloom.graph", "glassloom.head", "glassloom.protocol", "glassloom.sampling",
        "glassloom.scheduler", "glassloom.store", "glassloom.units", "glassloom.worker.fork_server",
    ),
    "glassloom.client": (
        *PROCESS, "glassloom._gc", "glassloom._names", "glassloom._text", "glassloom.client", "glassloom.cluster", "glassloom.collection", "glassloom.config", "glassloom.devices", "glassloom.errors",
        "glassloom.distributed.optional", "glassloom.expr", "glassloom.graph", "glassloom.local.default", "glassloom.protocol",
        "glassloom.recordings.cluster_recording",
        "glassloom.recordings.flame_files", "glassloom.reprs",
        "glassloom.store", "glassloom.units", "glassloom.worker.call_stacks", "glassloom.worker.plugins",
        "glassloom.worker.task_context", "glassloom.worker.uploads", "glassloom.worker.worker_of_task",
    ),
    "glassloom.distributed": (
        *PROCESS, "glassloom._names", "glassloom._text", "glassloom.backends", "glassloom.client", "glassloom.config", "glassloom.distributed", "glassloom.errors", "glassloom.graph",
        "glassloom.local", "glassloom.protocol", "glassloom.store.pickling", "glassloom.units", "glassloom.worker.task_context",
    ),
    "glassloom.notebook": (
        *PROCESS, "glassloom.client", "glassloom.errors", "glassloom.graph", "glassloom.notebook", "glassloom.protocol",
        "glassloom.recordings.recording", "glassloom.reprs", "glassloom.units",
    ),
    "glassloom.cluster": (
        *PROCESS, "glassloom.client.blocking", "glassloom.client.connection", "glassloom.client.deadline", "glassloom.cluster",
        "glassloom._names", "glassloom.config", "glassloom.errors",
        "glassloom.devices.cuda_options", "glassloom.protocol", "glassloom.reprs", "glassloom.sampling.limits", "glassloom.sampling.nvml",
        "glassloom.sampling.nvml_session", "glassloom.units",
    ),
    "glassloom.recordings.cluster_recording": (*PROCESS, "glassloom.errors", "glassloom.reprs", "glassloom.units"),
    "glassloom.recordings.flame_files": (),
    "glassloom.recordings": (
        *PROCESS, "glassloom.client", "glassloom.errors", "glassloom.local.default", "glassloom.local.threads",
        "glassloom.protocol.identity", "glassloom.recordings", "glassloom.reprs", "glassloom.units",
    ),
    "glassloom.graph_folding": (),
    "glassloom.graph_drawing": (
        "glassloom.config", "glassloom.errors", "glassloom.expr", "glassloom.graph", "glassloom.graph_folding",
    ),
    "glassloom.collection": (
        "glassloom._gc", "glassloom._users_functions", "glassloom.expr", "glassloom.graph", "glassloom.graph_drawing", "glassloom.local.default", "glassloom.protocol.tracebacks", "glassloom.local.synchronous",
        "glassloom.local.threads",
    ),
    "glassloom.delayed_call": ("glassloom.collection", "glassloom.errors", "glassloom.expr", "glassloom.graph", "glassloom.reprs"),
}  # fmt: skip
"""What may be imported by each part; parts that aren't listed are held by `FORBIDDEN` alone."""

ENGINE = (
    "glassloom.scheduler",
    "glassloom.protocol",
    "glassloom.head",
    "glassloom.worker",
    "glassloom.local",
    "glassloom.client",
)

FORBIDDEN = {
    "glassloom.array": (*ENGINE, "glassloom.dataframe"),
    "glassloom.dataframe": ENGINE,
    "glassloom.bag": ENGINE,
}
"""What collections must not know. ``glassloom.local.default`` is the one door that all collections use."""


def test_only_the_folder_for_them_imports_dask_and_joblib() -> None:
    found = [
        one for package in OURS for one in imports(package) if _top(one) in ("dask", "distributed", "joblib", "mpi4py")
    ]
    assert found, "they are imported"
    assert [str(one) for one in found if not is_inside(one.module, "glassloom.distributed")] == []


ARRAY_PARTS = ("chunks", "tiling", "sources", "ops", "optimize", "api")
"""The parts of arrays: each may import from those before it. Beside them are the namespaces that users import, on top of all."""


@pytest.mark.parametrize("part", ARRAY_PARTS)
def test_each_part_of_arrays_imports_only_from_those_below_it(part: str) -> None:
    allowed = tuple(f"glassloom.array.{name}" for name in ARRAY_PARTS[: ARRAY_PARTS.index(part) + 1])
    found = _of_glassloom(f"glassloom.array.{part}")
    assert found, "the part is there"
    ours = [one for one in found if is_inside(one.target, "glassloom.array")]
    assert [str(one) for one in ours if not is_inside(one.target, *allowed)] == []


DASHBOARD_FOLDERS = ("folds", "parts", "views", "serving")
"""The folders of the dashboards: each may import from those before it."""


@pytest.mark.parametrize("folder", DASHBOARD_FOLDERS)
def test_each_folder_of_the_dashboards_imports_only_from_those_below_it(folder: str) -> None:
    own = f"glassloom_dashboards.{folder}"
    below = DASHBOARD_FOLDERS[: DASHBOARD_FOLDERS.index(folder) + 1]
    allowed = tuple(f"glassloom_dashboards.{name}" for name in below)
    found = [one for one in imports("glassloom_dashboards") if is_inside(one.module, own)]
    ours = [one for one in found if is_inside(one.target, "glassloom_dashboards")]
    assert ours, "the folder is there"
    assert [str(one) for one in ours if not is_inside(one.target, *allowed)] == []


@pytest.mark.parametrize("package", OURS)
def test_packages_import_only_what_their_environment_has(package: str) -> None:
    allowed = STANDARD | THIRD_PARTY[package] | FIRST_PARTY[package]
    assert [str(found) for found in imports(package) if _top(found) not in allowed] == []


@pytest.mark.parametrize("package", OURS)
def test_the_table_names_no_package_that_is_not_imported(package: str) -> None:
    optional = {"IPython"}
    used = {_top(found) for found in imports(package)}
    assert sorted((THIRD_PARTY[package] | FIRST_PARTY[package]) - used - optional) == []


@pytest.mark.parametrize("part", INSIDE_GLASSLOOM)
def test_each_part_of_the_engine_imports_only_what_is_below_it(part: str) -> None:
    allowed = INSIDE_GLASSLOOM[part]
    wrong = [found for found in _of_glassloom(part) if not is_inside(found.target, *allowed)]
    assert [str(found) for found in wrong] == []


@pytest.mark.parametrize("part", FORBIDDEN)
def test_collections_know_no_scheduler_head_or_client(part: str) -> None:
    wrong = [
        found
        for found in _of_glassloom(part)
        if is_inside(found.target, *FORBIDDEN[part]) and not is_inside(found.target, "glassloom.local.default")
    ]
    assert [str(found) for found in wrong] == []


@pytest.mark.parametrize("package", OURS)
def test_no_modules_import_each_other_in_a_circle_not_even_for_type_checkers(package: str) -> None:
    edges: dict[str, set[str]] = {}
    for found in imports(package):
        if found.kind in ("top", "types") and found.target in modules(package):
            edges.setdefault(found.module, set()).add(found.target)
    assert cycles(edges) == []


# Libraries of devices are imported in a few modules only, inside functions: everything else works where there is none.

DEVICE_LIBRARIES = {"cudf", "cupy", "cupyx", "numba", "rmm", "torch", "cuda"}
MAY = ("glassloom.backends", "glassloom.devices")


@pytest.mark.parametrize("package", OURS)
def test_device_libraries_are_imported_in_backends_and_devices_alone_and_only_when_a_function_runs(
    package: str,
) -> None:
    found = [one for one in imports(package) if one.target.partition(".")[0] in DEVICE_LIBRARIES]
    assert [str(one) for one in found if not is_inside(one.module, *MAY) or one.kind != "function"] == []
    assert found or package != "glassloom"


@pytest.mark.parametrize("folder", ["array", "dataframe", "expr"])
def test_collections_name_no_device_library_in_code(folder: str) -> None:
    """No ``import_module("cupy")`` either; words in docstrings and messages are free."""
    root = PACKAGES["glassloom"] / folder
    words = [f'{call}("{name}' for call in ("import_module", "__import__", "importorskip") for name in DEVICE_LIBRARIES]
    assert [str(path) for path in root.rglob("*.py") if any(word in path.read_text() for word in words)] == []


def _of_glassloom(part: str) -> list[Import]:
    """Return what a part imports of the engine, but for what only type checkers see."""
    return [
        found
        for found in imports("glassloom")
        if is_inside(found.module, part) and is_inside(found.target, "glassloom") and found.kind != "types"
    ]


def _top(found: Import) -> str:
    return found.target.partition(".")[0]


# The reader itself


def test_imports_are_found_in_functions_and_for_type_checkers() -> None:
    source = """
import os
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    import bokeh
else:
    import tornado
try:
    import cupy
except ImportError:
    cupy = None
class A:
    def method(self):
        from dask import array
"""
    found = [(entry.target, entry.kind) for entry in imports_in("m", source, is_package=False)]
    assert found == [
        ("os", "top"), ("typing", "top"), ("bokeh", "types"), ("tornado", "top"), ("cupy", "top"), ("dask", "function"),
    ]  # fmt: skip


def test_from_imports_name_the_module_that_is_meant() -> None:
    source = "from glassloom.protocol import failure\nfrom glassloom.errors import GraphError\nfrom . import worker"
    found = [entry.target for entry in imports_in("glassloom.worker.fork_server", source, is_package=False)]
    assert found == ["glassloom.protocol.failure", "glassloom.errors", "glassloom.worker.worker"]


def test_circles_are_found() -> None:
    assert cycles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [["a", "b", "c"]]
