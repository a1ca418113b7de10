"""Datasets: collections, futures and other values that a cluster keeps by name, whichever client comes or goes."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from typing import TYPE_CHECKING, Any

from glassloom.errors import OptionError
from glassloom.parcels import pack, unpack
from glassloom.runtime import agreements
from glassloom.runtime.waiting import Steps, block

if TYPE_CHECKING:
    from glassloom.client import Client

_SPACE = "dataset"
NO_DEFAULT: Any = object()


class Datasets(MutableMapping[str, Any]):
    """The datasets of a client's cluster, as a mapping: ``client.datasets["flights"]``. See `Client.publish_dataset`."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def __getitem__(self, name: str) -> Any:
        return block(fetch(self._client, name, NO_DEFAULT))

    def __setitem__(self, name: str, value: Any) -> None:
        block(publish(self._client, {name: value}, override=False))

    def __delitem__(self, name: str) -> None:
        block(unpublish(self._client, name))

    def __iter__(self) -> Iterator[str]:
        return iter(block(names(self._client)))

    def __len__(self) -> int:
        return len(block(names(self._client)))

    def __contains__(self, name: object) -> bool:
        return name in block(names(self._client))

    def __repr__(self) -> str:
        return f"<Datasets: {', '.join(map(repr, self)) or 'none'}>"


def publish(client: Client, values: dict[str, Any], *, override: bool) -> Steps[None]:
    """Let the cluster keep values by name. Raises `KeyError` if it has one of a name, unless `override`."""
    for name, value in values.items():
        if not isinstance(name, str) or not name:
            raise OptionError(f"name={name!r} should be text")
        op = agreements.Store(_SPACE, name, pack(value), override)
        _, outcome = yield from client._connection.negotiate(op)
        if outcome.status == "refused":
            raise KeyError(f"there is a dataset {name!r} already; unpublish it first, or use override=True")


def fetch(client: Client, name: str, default: Any) -> Steps[Any]:
    """Return a dataset, or `default`."""
    request, outcome = yield from client._connection.negotiate(agreements.Fetch(_SPACE, name, False))
    if outcome.status == "refused":
        if default is not NO_DEFAULT:
            return default
        raise (yield from _missing(client, name))
    (value,) = unpack(outcome.parcels, request, client)
    return value


def unpublish(client: Client, name: str) -> Steps[None]:
    """Let the cluster forget a dataset. Its results go when nobody else holds them."""
    _, outcome = yield from client._connection.negotiate(agreements.Remove(_SPACE, name))
    if outcome.status == "refused":
        raise (yield from _missing(client, name))


def names(client: Client) -> Steps[tuple[str, ...]]:
    """Return the names of the datasets."""
    _, outcome = yield from client._connection.negotiate(agreements.ListNames(_SPACE))
    return tuple(outcome.names)


def _missing(client: Client, name: str) -> Steps[KeyError]:
    there = ", ".join(map(repr, (yield from names(client)))) or "none"
    return KeyError(f"no dataset {name!r}; there are: {there}")
