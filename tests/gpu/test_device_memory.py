"""`CudaDevice`: copies, sizes, IPC and time, in a process of its own for each test."""

from __future__ import annotations

import multiprocessing

import pytest

pytestmark = pytest.mark.gpu


def in_process(function, uuid, *args):
    """Run a function with the device in a fresh process, and return what it returns."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_with_device, (function, uuid, *args))


def _with_device(function, uuid, *args):
    from dataclasses import asdict

    from glassloom.devices.cuda_options import CudaOptions
    from glassloom.devices.opening import open_device

    device = open_device(f"cuda:{uuid}", {uuid: asdict(CudaOptions(uuid, "GPU", 0, None, None))})
    return function(device, *args)


@pytest.fixture
def uuid(devices):
    return next(one.uuid for one in devices if not one.is_divided)


def round_trip_of_arrays(device):
    import cupy
    import numpy as np

    made = []
    for array in (
        cupy.arange(12.0).reshape(3, 4), cupy.asfortranarray(cupy.ones((3, 4), "f4")), cupy.arange(100)[::7], cupy.empty((0, 3)), cupy.array(5),
    ):  # fmt: skip
        form = device.to_host(array)
        back = device.to_device(form)
        same = np.array_equal(cupy.asnumpy(array), cupy.asnumpy(back)) and back.dtype == array.dtype
        made.append(bool(same and device.owns(array) and not device.owns(form) and form.nbytes == array.nbytes))
    return made


def test_arrays_come_back_from_the_host_as_they_were(uuid):
    assert in_process(round_trip_of_arrays, uuid) == [True] * 5


def round_trip_of_frames(device):
    import pickle

    import cudf

    frame = cudf.DataFrame(
        {"a": [1, None, 3], "s": ["x", None, "z"], "c": cudf.Series(["u", "v", "u"], dtype="category")}, index=[5, 6, 7]
    )
    made = []
    for value in (frame, frame["s"], frame.index, frame.iloc[:0]):
        form = pickle.loads(pickle.dumps(device.to_host(value), protocol=5))
        back = device.to_device(form)
        made.append(
            bool(back.to_pandas().equals(value.to_pandas()) and device.nbytes(value) >= 0 and device.owns(value))
        )
    return made


def test_frames_come_back_from_the_host_with_nulls_and_categories(uuid):
    pytest.importorskip("cudf")
    assert in_process(round_trip_of_frames, uuid) == [True] * 4


def sizes(device):
    import cupy

    array = cupy.ones((1000, 1000))
    return (
        device.nbytes(array),
        device.nbytes(array[:1]),
        device.used() >= 8_000_000,
        0 < device.free() <= device.total_bytes,
    )


def test_a_view_is_as_large_as_what_it_keeps(uuid):
    assert in_process(sizes, uuid) == (8_000_000, 8_000_000, True, True)


def time_on_device(device):
    import cupy

    with device.task_range("a-task") as span:
        for _ in range(50):
            cupy.ones((2000, 2000)) @ cupy.ones((2000, 2000))
    device.synchronize()
    seconds = span.seconds()
    return seconds is not None and 0 < seconds < 60


def test_time_on_the_device_is_measured_by_events_without_waiting(uuid):
    assert in_process(time_on_device, uuid)


def _export(device, connection):
    import cupy

    connection.send(device.export(cupy.arange(1000)[:]))
    connection.recv()


def _fetch(device, handle):
    return int(device.fetch(handle).sum())


def test_another_process_on_the_device_reads_by_cuda_ipc(uuid):
    ours, theirs = multiprocessing.Pipe()
    exporter = multiprocessing.get_context("spawn").Process(target=_with_device, args=(_export, uuid, theirs))
    exporter.start()
    try:
        handle = ours.recv()
        assert handle is not None, "cudaMalloc has handles"
        assert in_process(_fetch, uuid, handle) == sum(range(1000))
    finally:
        ours.send("done")
        exporter.join(60)
