"""Handing in: from a client's message with a graph to the scheduler, or back to the client if it can't be run."""

from __future__ import annotations

from glassloom.errors import GraphError, OptionError
from glassloom.head.call_cache import CallCache
from glassloom.head.client_runs import ClientRuns
from glassloom.head.connections import ClientConnection
from glassloom.head.task_specs import TaskSpecs
from glassloom.protocol import failure, messages
from glassloom.protocol.merging import split
from glassloom.protocol.options import WorkerResources
from glassloom.scheduler import Restrictions, Scheduler

ASKING_FOR_KEYS = (messages.Submit, messages.Scatter, messages.Retry, messages.Claim, messages.Attach)
"""Messages of a client that make it want keys, or want them anew."""


def submit_graph(
    scheduler: Scheduler,
    call_cache: CallCache,
    runs: ClientRuns,
    resources: WorkerResources,
    client: ClientConnection,
    message: messages.Submit,
) -> None:
    """Hand a client's graph in; tell the client if it is refused. `resources` is what workers have."""
    run = runs.begun(client, message.run)
    refusal = _lack_of_resources(message.resources, resources)
    if refusal is not None:
        client.send(messages.SubmitRefused(message.wanted_keys, failure.own_failure(refusal), client.n_handled))
        runs.handed_in(run, "failed")
        return
    calls = [client.calls[code] if isinstance(code, int) else call_cache.intern(code) for code in message.code]
    try:
        scheduler.submit(
            client,
            message.keys,
            TaskSpecs(calls, message),
            message.deps,
            external=message.external,
            wanted=message.wanted_keys,
            priority=message.priority,
            retries=message.retries,
            restrictions=_restrictions(message),
            labels=message.labels,
            run=run,
        )
        runs.handed_in(run)
    except GraphError as error:
        if message.is_merged:
            for single in split(message):
                submit_graph(scheduler, call_cache, runs, resources, client, single)
            return
        client.send(messages.SubmitRefused(message.wanted_keys, failure.own_failure(error), client.n_handled))
        runs.handed_in(run, "failed")


def note_calls(
    call_cache: CallCache, client: ClientConnection, message: messages.DefineCall | messages.ForgetCalls
) -> None:
    """Note which calls a client refers to by number."""
    if isinstance(message, messages.DefineCall):
        client.calls[message.number] = call_cache.intern(message.call)
    else:
        for number in message.numbers:
            client.calls.pop(number, None)


def _restrictions(message: messages.Submit) -> Restrictions | None:
    """Return what the tasks of a message need of their workers."""
    resources = tuple(sorted((name, amount) for name, amount in message.resources.items() if amount))
    if not resources and not message.workers:
        return None
    return Restrictions(resources, frozenset(message.workers), message.allow_other_workers)


def _lack_of_resources(asked: dict[str, float], resources: WorkerResources) -> OptionError | None:
    """Return the error of tasks that ask for more than any worker will ever have."""
    if resources.are_enough_for(asked):
        return None
    return OptionError(
        f"resources={asked}: {resources}, so that no worker could ever run such a task; "
        "start the cluster with resources= for its workers"
    )
