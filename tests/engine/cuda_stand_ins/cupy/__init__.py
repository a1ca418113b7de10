"""Stands in for CuPy where there is no GPU: it can be imported and opened as a device, and notes what the process was like then."""

import os
from types import SimpleNamespace

VISIBLE_AT_IMPORT = os.environ.get("CUDA_VISIBLE_DEVICES")
CALLS: list[tuple] = []
"""What was called, in order; `rmm` and `cudf` beside this one write here too."""


class ndarray:
    pass


class Device:
    pci_bus_id = "0000:17:00.0"

    def __init__(self, number):
        assert number == 0, "a worker sees one device"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


class Event:
    done = True

    def record(self):
        CALLS.append(("record",))


class OutOfMemoryError(MemoryError):
    pass


class CUDARuntimeError(RuntimeError):
    def __init__(self, status=719):
        super().__init__(f"cuda error {status}")
        self.status = status


class _Pool:
    def used_bytes(self):
        return 0

    total_bytes = used_bytes

    def free_all_blocks(self):
        pass


def get_default_memory_pool():
    return _Pool()


get_default_pinned_memory_pool = get_default_memory_pool
cuda = SimpleNamespace(
    Device=Device,
    Event=Event,
    memory=SimpleNamespace(OutOfMemoryError=OutOfMemoryError),
    runtime=SimpleNamespace(
        memGetInfo=lambda: (100 * 2**30, 141 * 2**30), deviceSynchronize=lambda: None, CUDARuntimeError=CUDARuntimeError
    ),
    nvtx=SimpleNamespace(RangePush=lambda key: CALLS.append(("push", key)), RangePop=lambda: CALLS.append(("pop",))),
    get_elapsed_time=lambda began, ended: 1.5,
    set_allocator=lambda allocator: CALLS.append(("set_allocator", allocator.__name__)),
)
