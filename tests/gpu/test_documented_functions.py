"""What the pages say runs on a device runs on CuPy and cuDF, and gives what NumPy and pandas give.

Tried once in processes of their own, so that this one holds no device; each function is a test.
"""

from __future__ import annotations

import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor
from importlib.util import find_spec

import documented
import pytest

pytestmark = pytest.mark.gpu
ARRAYS, FRAMES = documented.documented("array"), documented.documented("dataframe")
_MOST_PROCESSES = 8
"""Each takes about half a gigabyte of the device."""


def tried(function, names):
    """Return what a function gives for each of many names."""
    spawn = multiprocessing.get_context("spawn")
    n_processes = min(_MOST_PROCESSES, os.cpu_count() or 1)
    with ProcessPoolExecutor(n_processes, spawn, documented.load_documentation) as processes:
        futures = {name: processes.submit(function, name) for name in names}
        return {name: future.result(600) for name, future in futures.items()}


@pytest.fixture(scope="module")
def faults_of_arrays(devices):
    return tried(documented.array_faults, ARRAYS)


@pytest.fixture(scope="module")
def faults_of_frames(devices):
    return tried(documented.frame_faults, FRAMES)


@pytest.mark.parametrize("function", ARRAYS, ids=".".join)
def test_a_function_of_arrays_gives_numpys_result_on_cupy(function, faults_of_arrays):
    assert faults_of_arrays[function] == []


@pytest.mark.skipif(find_spec("cudf") is None, reason="cuDF isn't installed")
@pytest.mark.parametrize("method", FRAMES, ids=".".join)
def test_a_method_of_frames_gives_pandas_result_on_cudf(method, faults_of_frames):
    assert faults_of_frames[method] == []
