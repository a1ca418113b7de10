"""Datasets: collections, futures and other values that a cluster keeps by name, whichever client comes or goes."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from functools import partial
from typing import Any

from glassloom._names import checked_name
from glassloom.client.base import ClientBase
from glassloom.client.blocking import Operation, run_sync
from glassloom.client.call_names import DATASETS
from glassloom.client.payload import dump_with_futures, load_with_futures
from glassloom.errors import OptionError
from glassloom.protocol import coordination

_SPACE = DATASETS
NO_DEFAULT: Any = object()


class Datasets(MutableMapping[str, Any]):
    """The datasets of a client's cluster, as a mapping: ``client.datasets["flights"]``. See `Client.publish_dataset`."""

    def __init__(self, client: ClientBase) -> None:
        self._client = client

    def __getitem__(self, name: str) -> Any:
        return run_sync(_fetch(self._client, name, NO_DEFAULT))

    def __setitem__(self, name: str, value: Any) -> None:
        run_sync(_publish(self._client, {name: value}, override=False))

    def __delitem__(self, name: str) -> None:
        run_sync(_unpublish(self._client, name))

    def __iter__(self) -> Iterator[str]:
        return iter(run_sync(_names(self._client)))

    def __len__(self) -> int:
        return len(run_sync(_names(self._client)))

    def __contains__(self, name: object) -> bool:
        return name in run_sync(_names(self._client))

    def __repr__(self) -> str:
        return f"<Datasets: {', '.join(map(repr, self)) or 'none'}>"


def _publish(client: ClientBase, values: dict[str, Any], *, override: bool) -> Operation[None]:
    """Let the cluster keep values by name. Raises `KeyError` if it has one of a name, unless `override`."""
    for name, value in values.items():
        name = checked_name("name", name)
        op = coordination.VariableSet(_SPACE, name, dump_with_futures(value), override)
        outcome = yield from client._connection.negotiate(op)
        if outcome.status == "refused":
            raise KeyError(f"there is a dataset {name!r} already; unpublish it first, or use override=True")


def _fetch(client: ClientBase, name: str, default: Any) -> Operation[Any]:
    """Return a dataset, or `default`."""
    op = coordination.VariableGet(_SPACE, checked_name("name", name), False)
    values = yield from client._connection.negotiate(op, None, partial(load_with_futures, client))
    if values is None:
        if default is not NO_DEFAULT:
            return default
        raise (yield from _missing(client, name))
    return values[0]


def _unpublish(client: ClientBase, name: str) -> Operation[None]:
    """Let the cluster forget a dataset. Its results are released unless something else holds them."""
    outcome = yield from client._connection.negotiate(coordination.VariableDelete(_SPACE, checked_name("name", name)))
    if outcome.status == "refused":
        raise (yield from _missing(client, name))


def _names(client: ClientBase) -> Operation[tuple[str, ...]]:
    """Return the names of the datasets."""
    outcome = yield from client._connection.negotiate(coordination.ListVariables(_SPACE))
    return tuple(outcome.names)


def _missing(client: ClientBase, name: str) -> Operation[KeyError]:
    there = ", ".join(map(repr, (yield from _names(client)))) or "none"
    return KeyError(f"no dataset {name!r}; there are: {there}")


class DatasetMethods(ClientBase):
    """The part of a client that publishes and finds datasets."""

    def publish_dataset(self, *args: Any, name: str | None = None, override: bool = False, **datasets: Any) -> Any:
        """Let the cluster keep values by name, also when this client is gone; other clients get them by that name.

        Parameters
        ----------
        args
            One value, which goes by `name`.
        override
            Whether a dataset of the same name is replaced.
        datasets
            Values by name: persisted collections (their results are kept), lazy ones, futures, or others up to 4 MiB.

        Raises
        ------
        KeyError
            If there is a dataset of the name already.
        SerialisationError, OptionError
            If a value doesn't pickle, or is too large.

        Examples
        --------
        >>> from glassloom import Client
        >>> import glassloom.array as ga
        >>> with Client(n_workers=1, threads_per_worker=1) as client:
        ...     client.publish_dataset(squares=client.persist(ga.arange(4, chunks=2) ** 2))
        ...     client.list_datasets(), client.get_dataset("squares").sum().compute()
        (('squares',), np.int64(14))
        """
        if len(args) > 1 or (len(args) == 1) != (name is not None):
            raise OptionError("publish_dataset takes one value with name=..., or values by name: publish_dataset(x=x)")
        named = {**({name: args[0]} if name is not None else {}), **datasets}
        return self._run(_publish(self, named, override=override))

    def get_dataset(self, name: str, default: Any = NO_DEFAULT) -> Any:
        """Return a dataset of the cluster.

        Raises
        ------
        KeyError
            If there is none of that name and no `default`; the message lists those there are.
        """
        return self._run(_fetch(self, name, default))

    def unpublish_dataset(self, name: str) -> Any:
        """Let the cluster forget a dataset; its results are released unless something else holds them.

        Raises
        ------
        KeyError
            If there is none of that name.
        """
        return self._run(_unpublish(self, name))

    def list_datasets(self) -> Any:
        """Return the names of the cluster's datasets."""
        return self._run(_names(self))

    @property
    def datasets(self) -> Datasets:
        """The cluster's datasets, as a mapping by name."""
        return Datasets(self)
