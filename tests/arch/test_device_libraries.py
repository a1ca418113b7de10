"""Libraries of devices are imported in a few modules only, inside functions: everything else works where there is none."""

from __future__ import annotations

import pytest
from imports import PACKAGES, imports, is_inside

DEVICE_LIBRARIES = {"cudf", "cupy", "cupyx", "numba", "rmm", "torch", "cuda"}
MAY = ("glassloom.backends", "glassloom.devices")


@pytest.mark.parametrize("package", PACKAGES)
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
