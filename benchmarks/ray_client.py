"""Ray behind the few methods of a client that the cases use, so that all contenders run the same code."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from inspect import isfunction
from typing import Any


class RayFuture:
    """The result of a task, or a value that was handed in."""

    def __init__(self, reference: Any) -> None:
        self.reference = reference

    def result(self) -> Any:
        import ray

        return ray.get(self.reference)


class RayClient:
    """Submits to the Ray that this process has started."""

    def __init__(self) -> None:
        self._remote: dict[Callable[..., Any], Any] = {}

    def submit(self, function: Callable[..., Any], *args: Any, pure: bool = True) -> RayFuture:
        """Start a task. Ray resolves references only among the arguments themselves, not inside of lists."""
        if any(isinstance(arg, list) for arg in args):
            (values,) = args
            return RayFuture(self._task(function, _on_list(function)).remote(*map(_plain, values)))
        return RayFuture(self._task(function, function).remote(*map(_plain, args)))

    def map(self, function: Callable[..., Any], *iterables: Iterable[Any]) -> list[RayFuture]:
        return [self.submit(function, *args) for args in zip(*iterables, strict=False)]

    def gather(self, futures: Sequence[RayFuture]) -> list[Any]:
        import ray

        results: list[Any] = ray.get([future.reference for future in futures])
        return results

    def scatter(self, value: Any, broadcast: bool = False) -> RayFuture:
        import ray

        return RayFuture(ray.put(value))

    def _task(self, key: Callable[..., Any], function: Callable[..., Any]) -> Any:
        import ray

        if key not in self._remote:
            self._remote[key] = ray.remote(function if isfunction(function) else _as_function(function))
        return self._remote[key]


def _plain(value: Any) -> Any:
    return value.reference if isinstance(value, RayFuture) else value


def _negate(number: int) -> int:
    return -number


def _as_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that Ray takes for one: it takes no builtins."""

    def call(*args: Any) -> Any:
        return function(*args)

    return call


def _on_list(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*values: Any) -> Any:
        return function(list(values))

    return call


@contextmanager
def ray_client(n_workers: int) -> Iterator[RayClient]:
    """Start Ray with as many single-threaded workers as the others have threads, and end it."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"  # before the import
    import ray

    ray.init(num_cpus=n_workers, include_dashboard=False, log_to_driver=False, configure_logging=False)
    try:
        client = RayClient()
        client.gather(client.map(_negate, range(50 * n_workers)))  # so that its workers are there
        yield client
    finally:
        ray.shutdown()
