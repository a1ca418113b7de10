"""Handing in: from a client's message with a graph to the scheduler, or back to the client if it can't be run."""

from __future__ import annotations

from collections.abc import Mapping

from glassloom.errors import GraphError, OptionError
from glassloom.head.call_cache import Codebook
from glassloom.head.connections import ClientPeer
from glassloom.protocol import failure, messages
from glassloom.scheduler import Demand, Scheduler


def hand_in(
    scheduler: Scheduler,
    codebook: Codebook,
    resources: Mapping[str, float],
    client: ClientPeer,
    message: messages.Submit,
) -> None:
    """Hand a client's graph in; tell the client if it is refused. `resources` is what each worker has."""
    refusal = _lack_of_resources(message.resources, resources)
    if refusal is not None:
        client.tell(messages.SubmitRefused(message.wanted, failure.own_failure(refusal)))
        return
    codes = [codebook.enter(code) for code in message.code]
    specs = [
        (codes[call], literals, message.priority)
        for call, literals in zip(message.calls, message.literals, strict=True)
    ]
    try:
        scheduler.submit(
            client,
            message.keys,
            specs,
            message.deps,
            external=message.external,
            wanted=message.wanted,
            priority=message.priority,
            retries=message.retries,
            demand=_demand(message),
            labels=message.labels,
        )
    except GraphError as error:
        client.tell(messages.SubmitRefused(message.wanted, failure.own_failure(error)))


def _demand(message: messages.Submit) -> Demand | None:
    """Return what the tasks of a message need of their workers."""
    resources = tuple(sorted((name, amount) for name, amount in message.resources.items() if amount))
    if not resources and not message.workers:
        return None
    return Demand(resources, frozenset(message.workers), message.allow_other_workers)


def _lack_of_resources(asked: dict[str, float], has: Mapping[str, float]) -> OptionError | None:
    """Return the error of tasks that ask for more than any worker will ever have."""
    if all(has.get(name, 0.0) >= amount for name, amount in asked.items()):
        return None
    return OptionError(
        f"resources={asked}: each worker of this cluster has {has or 'none'}, so that no worker could ever run such a task; "
        "start the cluster with resources= for its workers"
    )
