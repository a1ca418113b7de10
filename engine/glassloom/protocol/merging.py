"""Messages of single tasks that were submitted one after the other, as one message: a head takes many tasks at once for less.

What is merged means the same as the messages after each other. `split` gives them back, for a head that can't take them all.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from glassloom.graph.keys import Key
from glassloom.protocol.messages import Submit


def is_single(message: Submit) -> bool:
    """Whether a message has one task, which its sender wants."""
    return len(message.keys) == 1 and message.wanted == message.keys and not message.is_merged


def are_alike(message: Submit, other: Submit) -> bool:
    """Whether the tasks of two messages are to be treated alike, and were built in the same places."""
    return (
        message.labels == other.labels
        and message.priority == other.priority
        and message.retries == other.retries
        and message.resources == other.resources
        and message.workers == other.workers
        and message.allow_other_workers == other.allow_other_workers
    )


def merge(messages: Sequence[Submit]) -> Submit:
    """Return messages of single tasks that are alike as one. Of tasks with equal keys only the first counts."""
    if len(messages) == 1:
        return messages[0]
    places: dict[Key, int] = {}
    codes: dict[bytes | int, int] = {}
    external: dict[Key, None] = {}
    calls: list[int] = []
    literals: list[bytes] = []
    needs: list[list[Key]] = []
    for message in messages:
        (key,) = message.keys
        if key in places:
            continue
        names = [key, *message.external]
        below = [names[dep] for dep in message.deps[0]]
        external.update(dict.fromkeys([name for name in below if name not in places]))
        places[key] = len(places)
        calls.append(codes.setdefault(message.code[0], len(codes)))
        literals.append(message.literals[0])
        needs.append(below)
    deps = _positions(needs, places, {name: len(places) + number for number, name in enumerate(external)})
    keys = list(places)
    return msgspec.structs.replace(
        messages[0],
        keys=keys,
        calls=calls,
        literals=literals,
        deps=deps,
        code=list(codes),
        external=list(external),
        wanted=keys,
        is_merged=True,
    )


def _positions(needs: list[list[Key]], places: dict[Key, int], external: dict[Key, int]) -> list[list[int]]:
    """Return where the dependencies of each task are: among the tasks before it, or else external."""
    return [
        [place if (place := places.get(name, number)) < number else external[name] for name in below] if below else []
        for number, below in enumerate(needs)
    ]


def split(message: Submit) -> list[Submit]:
    """Return merged messages as they were."""
    names = [*message.keys, *message.external]
    return [
        msgspec.structs.replace(
            message,
            keys=[key],
            calls=[0],
            literals=[literals],
            deps=[list(range(1, len(below) + 1))],
            code=[message.code[call]],
            external=[names[dep] for dep in below],
            wanted=[key],
            is_merged=False,
        )
        for key, call, literals, below in zip(message.keys, message.calls, message.literals, message.deps, strict=True)
    ]
