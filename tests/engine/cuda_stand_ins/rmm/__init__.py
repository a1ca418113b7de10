"""Stands in for RAPIDS Memory Manager where there is no GPU: it notes which memory resources are made."""

from types import SimpleNamespace

from cupy import CALLS


def _resource(name):
    def make(*args, **kwargs):
        CALLS.append((name, tuple(sorted(kwargs.items()))))
        return SimpleNamespace(upstream_mr=args[0] if args else None)

    return make


_NAMES = (
    "CudaMemoryResource", "ManagedMemoryResource", "CudaAsyncMemoryResource", "PoolMemoryResource",
    "LimitingResourceAdaptor", "LoggingResourceAdaptor", "TrackingResourceAdaptor", "StatisticsResourceAdaptor",
)  # fmt: skip
_current = [SimpleNamespace(upstream_mr=None)]
mr = SimpleNamespace(
    **{name: _resource(name) for name in _NAMES},
    set_current_device_resource=lambda resource: _current.__setitem__(0, resource),
    get_current_device_resource=lambda: _current[0],
)
