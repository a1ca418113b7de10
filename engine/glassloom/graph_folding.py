"""Folding of wide graphs: boxes of one row and one name become one, so that a drawing fits a page."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

_REST = "others"


@dataclass
class Node:
    """A box: a name, what stands under it, what the pointer shows, and whether it is a result that was asked for."""

    name: str
    label: str
    detail: str = ""
    hint: str = ""
    is_result: bool = False
    sources: list[str] = field(default_factory=list)
    n_tasks: int = 1


def levels_of(nodes: Sequence[Node]) -> dict[str, int]:
    """Return the row of each node: one more than the lowest of those that it reads, 0 for sources."""
    level: dict[str, int] = {}
    for node in in_order(nodes):
        level[node.name] = 1 + max((level[source] for source in node.sources), default=-1)
    return level


def in_order(nodes: Sequence[Node]) -> list[Node]:
    """Return nodes after what they read. An explicit stack: chains may be deeper than Python's."""
    by_name = {node.name: node for node in nodes}
    done: dict[str, Node] = {}
    stack = list(reversed(nodes))
    while stack:
        node = stack[-1]
        waiting = [by_name[source] for source in node.sources if source not in done]
        if node.name in done or not waiting:
            done.setdefault(node.name, stack.pop())
        else:
            stack.extend(waiting)
    return list(done.values())


def folded(nodes: Sequence[Node], room: float, width: Callable[[Node], float]) -> list[Node]:
    """Return nodes whose boxes have room beside each other in each row: those of one name become one where they haven't, then others too.

    Parameters
    ----------
    room
        How wide a row may be.
    width
        Returns how much of it a box takes, with the gap to the next.

    Examples
    --------
    >>> wide = [Node(f"load-{n}", "load") for n in range(40)]
    >>> total = Node("sum", "sum", is_result=True, sources=[node.name for node in wide])
    >>> [(node.label, node.detail, len(node.sources)) for node in folded([*wide, total], 16, lambda node: 1)]
    [('load', '40 tasks', 0), ('sum', '', 1)]
    """
    level = levels_of(nodes)
    widths = _widths(nodes, level, width)
    if max(widths.values(), default=0.0) <= room:
        return list(nodes)
    home = {node.name: _home(node, level[node.name], widths[level[node.name]] > room) for node in nodes}
    members: dict[str, list[Node]] = {}
    for node in nodes:
        members.setdefault(home[node.name], []).append(node)
    joined = [_joined(name, group, home) for name, group in members.items()]
    return _without_rest(joined, room, width)


def _widths(nodes: Sequence[Node], level: dict[str, int], width: Callable[[Node], float]) -> dict[int, float]:
    """Return how wide each row is."""
    widths: defaultdict[int, float] = defaultdict(float)
    for node in nodes:
        widths[level[node.name]] += width(node)
    return widths


def _home(node: Node, row: int, is_wide: bool) -> str:
    return f"{node.label} in row {row}" if is_wide else node.name


def _joined(name: str, group: list[Node], home: dict[str, str]) -> Node:
    sources = list(dict.fromkeys(home[source] for node in group for source in node.sources))
    if len(group) == 1:
        (node,) = group
        return Node(name, node.label, node.detail, node.hint, node.is_result, sources, node.n_tasks)
    hints = list(dict.fromkeys(node.hint for node in group))
    hint = "\n".join([*hints[:3], f"and {len(hints) - 3} more"] if len(hints) > 4 else hints)
    n_tasks = sum(node.n_tasks for node in group)
    is_result = any(node.is_result for node in group)
    return Node(name, group[0].label, f"{n_tasks:,} tasks", hint, is_result, sources, n_tasks)


def _without_rest(nodes: list[Node], room: float, width: Callable[[Node], float]) -> list[Node]:
    """Return nodes with one box for those of a row that have no room yet, as all have different names."""
    level = levels_of(nodes)
    widths = _widths(nodes, level, width)
    used: defaultdict[int, float] = defaultdict(lambda: width(Node("", _REST, f"{len(nodes):,} tasks")))
    home: dict[str, str] = {}
    members: dict[str, list[Node]] = {}
    for node in nodes:
        row = level[node.name]
        used[row] += width(node)
        is_rest = widths[row] > room and used[row] > room
        home[node.name] = f"{_REST} in row {row}" if is_rest else node.name
        members.setdefault(home[node.name], []).append(node)
    rest = {name for name, group in members.items() if len(group) > 1}
    joined = [_joined(name, group, home) for name, group in members.items()]
    for node in joined:
        if node.name in rest:
            node.label = _REST
    return joined
