"""Arrays of the simulated device: the host reads them by explicit copies alone, and every byte is counted."""

from __future__ import annotations

import gc
import pickle
from collections.abc import Iterator

import glassloom.array as ga
import numpy as np
import pytest
from glassloom.backends.simulated_ import SimulatedArray, SimulatedDeviceError, SimulatedOutOfMemory, set_memory, xp
from glassloom.devices.device import using_device
from glassloom.devices.opening import open_device
from glassloom.devices.simulated import SimulatedDevice
from glassloom.errors import OptionError

KB = 1024


@pytest.fixture
def device() -> Iterator[SimulatedDevice]:
    opened = open_device("simulated:1MiB#3")
    assert isinstance(opened, SimulatedDevice)
    with using_device(opened):
        yield opened
    set_memory(None)


def test_a_device_is_named_by_its_kind() -> None:
    with pytest.raises(OptionError, match="device='tpu:0' should begin with one of 'cuda:', 'simulated:'"):
        open_device("tpu:0")


@pytest.mark.parametrize("read", [np.asarray, memoryview, lambda x: np.add(np.ones(4), x), lambda x: x + np.ones(4)])
def test_the_host_cant_read_an_array_without_copying_it(device: SimulatedDevice, read: object) -> None:
    x = xp.ones(4)
    with pytest.raises(TypeError):
        read(x)  # type: ignore[operator]
    assert device.memory.to_host == [0, 0]
    assert x.get().tolist() == [1.0] * 4
    assert device.memory.to_host == [1, 32]


def test_memory_is_that_of_arrays_and_of_arrays_of_which_there_are_views(device: SimulatedDevice) -> None:
    x = xp.zeros((4, 64))
    assert device.used() == 2 * KB
    row = x[0]
    y = x + 1
    assert device.used() == 4 * KB
    del x, y
    gc.collect()
    assert (device.used(), device.pool()) == (2 * KB, 4 * KB)
    device.free_cached()
    assert (device.used(), device.pool(), device.free()) == (2 * KB, 2 * KB, 1022 * KB)
    del row
    gc.collect()
    assert device.used() == 0


def test_it_is_full_at_its_limit(device: SimulatedDevice) -> None:
    x = xp.zeros(100 * KB)
    with pytest.raises(SimulatedOutOfMemory, match="allocating 819200 bytes: 819200 of 1048576 are used"):
        x + x
    assert device.used() == 800 * KB


def test_arrays_pickle_by_way_of_the_host(device: SimulatedDevice) -> None:
    copied = pickle.loads(pickle.dumps(xp.arange(10)))
    assert isinstance(copied, SimulatedArray)
    assert (device.memory.to_host[0], device.memory.to_device[0]) == (1, 1)
    assert copied.get().tolist() == list(range(10))
    assert pickle.loads(pickle.dumps(xp.linalg)).norm(xp.ones(4)).item() == 2.0


def test_without_a_device_there_are_empty_arrays_only() -> None:
    assert xp.ones((0, 3)).shape == (0, 3)
    with pytest.raises(SimulatedDeviceError, match="this process has no simulated device"):
        xp.ones(1)


@pytest.mark.parametrize(
    "compute",
    [
        lambda x: x.sum(),
        lambda x: x.mean(axis=0),
        lambda x: x.std(axis=1),
        lambda x: x[::2, 1:].T + 1,
        lambda x: x.max(axis=1),
        lambda x: np.sqrt(x) @ x.T,
        lambda x: x.rechunk((3, 5)).cumsum(axis=0),
        lambda x: ga.concatenate([x, x]).argmax(axis=0),
        lambda x: ga.where(x > 10, x, 0).reshape(-1),
        lambda x: x.var(),
    ],
)  # fmt: skip
def test_glassloom_arrays_of_its_chunks_never_copy_them_to_the_host(device: SimulatedDevice, compute: object) -> None:
    plain = np.arange(60.0).reshape(6, 10)
    x = ga.from_array(xp.asarray(plain), chunks=4)
    before = list(device.memory.to_host)
    found = compute(x).compute(scheduler="synchronous")  # type: ignore[operator]
    assert isinstance(found, SimulatedArray)
    assert device.memory.to_host == before
    expected = compute(ga.from_array(plain, chunks=4)).compute(scheduler="synchronous")  # type: ignore[operator]
    np.testing.assert_allclose(found.get(), expected)


def test_they_are_created_and_drawn_on_the_device(device: SimulatedDevice) -> None:
    ones = ga.ones((8, 8), chunks=4, like="simulated")
    drawn = ga.random.default_rng(12, backend="simulated").normal(10, 1, size=(8, 8), chunks=4)
    legacy = ga.random.RandomState(12, RandomState=xp.random.RandomState).normal(10, 1, size=(8, 8), chunks=4)
    for lazy in (ones, drawn, legacy):
        assert isinstance((lazy + 1)[::2].compute(scheduler="synchronous"), SimulatedArray)
    assert device.memory.to_host == [0, 0]
