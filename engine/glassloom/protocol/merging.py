"""Tasks that were submitted one by one, as one message: a head takes many tasks at once for less.

What is merged means the same as messages of one task after each other. `split` gives them back, for a head that can't take
them all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import NamedTuple

import msgspec

from glassloom.graph.keys import Key
from glassloom.protocol.annotations import Annotations
from glassloom.protocol.messages import Submit


class TaskTemplate(NamedTuple):
    """What tasks have in common that a line submits by themselves.

    Attributes
    ----------
    number, code
        The call: the number by which the head knows it, and its pickle.
    layer, line
        The layer of the tasks' keys and the user's line that built them, empty if that isn't known.
    """

    number: int
    code: bytes
    layer: str
    line: str
    handling: Annotations
    run: int = -1


class SingleTask(NamedTuple):
    """A task that its sender wants, and submits by itself.

    Attributes
    ----------
    needs
        Keys of the results that it takes, by the numbers that the call's shape has for them.
    """

    key: Key
    literals: bytes
    needs: Sequence[Key]
    template: TaskTemplate


_template_of = itemgetter(SingleTask._fields.index("template"))
PlainTask = tuple[Key, bytes, Sequence[Key], TaskTemplate]
"""The attributes of a `SingleTask` in their order. Those of which there are many do without the names: a tuple is made in a
fifth of the time."""


def is_single(message: Submit) -> bool:
    """Whether a message has one task, which its sender wants."""
    return len(message.keys) == 1 and message.wanted_keys == message.keys and len(message.labels) <= 1


def single_task(message: Submit, number: int, code: bytes) -> SingleTask:
    """Return the task of a message that has one, whose call is known as `number`."""
    (key,) = message.keys
    names = [key, *message.external]
    layer, (_, line) = next(iter(message.labels.items()), ("", ("", "")))
    template = TaskTemplate(number, code, layer, line, _handling(message), message.run)
    return SingleTask(key, message.literals[0], [names[dep] for dep in message.deps[0]], template)


def _handling(message: Submit) -> Annotations:
    return Annotations(
        message.priority,
        message.retries,
        tuple(message.resources.items()),
        tuple(message.workers),
        message.allow_other_workers,
    )


def alike(tasks: Sequence[PlainTask]) -> Iterator[Sequence[PlainTask]]:
    """Yield sequences of tasks that may be one message: of one run, treated alike, and each layer built in one place."""
    templates = list(map(_template_of, tasks))
    first = last = templates[0]
    if templates.count(first) == len(tasks):
        yield tasks
        return
    start, lines = 0, {first.layer: first.line}
    for position, template in enumerate(templates):
        if template is last:
            continue
        last = template
        if not _are_treated_alike(template, first) or lines.setdefault(template.layer, template.line) != template.line:
            yield tasks[start:position]
            start, first, lines = position, template, {template.layer: template.line}
    yield tasks[start:]


def _are_treated_alike(one: TaskTemplate, other: TaskTemplate) -> bool:
    return one.run == other.run and (one.handling is other.handling or one.handling == other.handling)


def merge(tasks: Sequence[PlainTask]) -> Submit:
    """Return tasks that are alike as one message. Of tasks with equal keys only the first counts."""
    if len({task[0] for task in tasks}) != len(tasks):
        first: dict[Key, PlainTask] = {}
        for task in tasks:
            first.setdefault(task[0], task)
        tasks = list(first.values())
    keys, literals, needs, templates = zip(*tasks, strict=True)
    first_template = templates[0]
    handling = first_template.handling
    distinct = list({id(template): template for template in templates}.values())
    code = {number: place for place, number in enumerate(dict.fromkeys([template.number for template in distinct]))}
    deps, external = _positions(keys, needs) if any(needs) else ([[]] * len(keys), [])
    return Submit(
        list(keys),
        [0] * len(keys) if len(code) == 1 else [code[template.number] for template in templates],
        list(literals),
        deps,
        list(code),
        external,
        None,
        {template.layer: ("", template.line) for template in distinct if template.line},
        handling.priority,
        handling.retries,
        dict(handling.resources),
        list(handling.workers),
        handling.allow_other_workers,
        is_merged=len(keys) > 1,
        run=first_template.run,
    )


def _positions(keys: Sequence[Key], needs: Sequence[Sequence[Key]]) -> tuple[list[list[int]], list[Key]]:
    """Return where the dependencies of each task are, among the tasks before it or else external, and the external ones."""
    places: dict[Key, int] = {}
    external: dict[Key, int] = {}
    deps = []
    for place, (key, below) in enumerate(zip(keys, needs, strict=True)):
        deps.append(
            [places[name] if name in places else external.setdefault(name, len(keys) + len(external)) for name in below]
        )
        places[key] = place
    return deps, list(external)


def split(message: Submit) -> list[Submit]:
    """Return the tasks of a message that was merged as messages of one task."""
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
            wanted=None,
            is_merged=False,
        )
        for key, call, literals, below in zip(message.keys, message.calls, message.literals, message.deps, strict=True)
    ]
