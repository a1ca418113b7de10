"""Drawings of what will run: tasks and what they read, or layers where tasks would be too many.

Graphviz draws if its ``dot`` is there; else this module lays the graph out itself, in rows. Runs no tasks.
"""

from __future__ import annotations

import base64
import html
import shutil
import subprocess
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from glassloom import config
from glassloom.errors import OptionError
from glassloom.expr import Expr, Fused, lower, optimize, walk
from glassloom.graph import Graph, Key, key_index, key_layer, layer_name
from glassloom.graph.origin import user_origin
from glassloom.graph_folding import Node, folded, levels_of

_GRAPHVIZ_S = 30.0
_SWEEPS = 6
_MAX_LABEL = 28
_BOX_HEIGHT, _ROW_GAP, _BOX_GAP, _MARGIN, _CHARACTER = 36.0, 34.0, 16.0, 12.0, 6.6
PAGE_PX = 900.0
"""How wide a drawing may be before boxes of one name become one: about what a notebook's page is."""
_FORMATS = ("svg", "dot", "png", "pdf")


_LOOKS = frozenset(
    ["cmap", "collapse_outputs", "color", "data_attributes", "edge_attr", "engine", "function_attributes", "graph_attr", "maxval",
     "node_attr", "rankdir", "splines", "tasks", "traverse", "verbose"]
)  # fmt: skip
"""Options of Dask's drawings, which several programs can make in several ways."""


def warn_of_looks(looks: Mapping[str, Any]) -> None:
    """Warn, at the user's line, that options of how Dask's drawings look change nothing here.

    Raises
    ------
    TypeError
        If one isn't an option of Dask's either.
    """
    unknown = sorted(looks.keys() - _LOOKS)
    if unknown:
        raise TypeError(f"visualize() got an unexpected keyword argument {unknown[0]!r}")
    if looks:
        message = f"visualize() draws graphs in one way: {', '.join(sorted(looks))} changed nothing"
        origin = user_origin()
        warnings.warn_explicit(message, UserWarning, *(("visualize", 0) if origin is None else origin[:2]))


class Drawing:
    """A drawn graph. Notebooks show it; `svg` and `dot` are its texts."""

    def __init__(self, nodes: list[Node]) -> None:
        self.nodes = nodes

    def __repr__(self) -> str:
        edges = sum(len(node.sources) for node in self.nodes)
        return f"Drawing({len(self.nodes)} nodes, {edges} edges)"

    @property
    def dot(self) -> str:
        """The graph in Graphviz's language."""
        return dot_text(self.nodes)

    @property
    def svg(self) -> str:
        """The drawing, by Graphviz if it is there, else in rows of our own layout."""
        drawn = _graphviz(self.dot, "svg")
        return drawn.decode() if drawn is not None else svg_text(self.nodes)

    def _repr_svg_(self) -> str:
        return self.svg

    def _repr_html_(self) -> str:
        """Return an image that is no wider than the page. JupyterLab would cut off an SVG, and show none in a notebook that isn't trusted."""
        code = base64.b64encode(self.svg.encode()).decode()
        return (
            f'<img alt="Graph of {len(self.nodes)} nodes" style="max-width: 100%; height: auto" '
            f'src="data:image/svg+xml;base64,{code}">'
        )

    def save(self, filename: str | Path) -> None:
        """Write the drawing to a file whose ending says the format: ``.svg``, ``.dot``, ``.png`` or ``.pdf``.

        Raises
        ------
        OptionError
            If the format is another, or needs Graphviz, which isn't there.
        """
        path = Path(filename)
        kind = path.suffix[1:].lower()
        if kind not in _FORMATS:
            raise OptionError(
                f"filename={str(filename)!r} doesn't end in one of {', '.join('.' + f for f in _FORMATS)}"
            )
        if kind in ("svg", "dot"):
            path.write_text(self.svg if kind == "svg" else self.dot, encoding="utf-8")
            return
        drawn = _graphviz(self.dot, kind)
        if drawn is None:
            raise OptionError(f"filename={str(filename)!r} needs Graphviz's dot on the PATH; .svg doesn't")
        path.write_bytes(drawn)


def draw(roots: Sequence[Expr], *, optimize_graph: bool = True, layers: bool | None = None) -> Drawing:
    """Return the drawing of what computes `roots`.

    Parameters
    ----------
    optimize_graph
        Whether to draw the plan as it will run rather than as it is written.
    layers
        Whether to draw a box for each layer rather than for each task; None: if there are more tasks than the
        option ``visualize.max-tasks`` says. Then boxes of one name become one, too, where a row would be wider than a page.
    """
    is_folded = layers is None
    plan = optimize(roots) if optimize_graph else list(roots)
    nodes = walk(plan)
    if layers is None:
        layers = sum(node.n_tasks for node in nodes) > config.get("visualize.max-tasks")
    if layers:
        drawn = _layer_nodes(nodes, plan)
    else:
        graph, keys = lower(plan)
        drawn = _task_nodes(graph, {key for group in keys for key in group})
    return Drawing(folded(drawn, PAGE_PX - 2 * _MARGIN, lambda node: _width(node) + _BOX_GAP) if is_folded else drawn)


def _layer_nodes(nodes: Sequence[Expr], results: Sequence[Expr]) -> list[Node]:
    names = {node.name for node in results}
    return [
        Node(
            node.name,
            " > ".join(node.operations) if isinstance(node, Fused) else node.label,
            f"{node.n_tasks:,} task{'s' if node.n_tasks != 1 else ''}",
            str(node.origin or node.name),
            node.name in names,
            list(dict.fromkeys(source.name for source in node.dependencies)),
            node.n_tasks,
        )
        for node in nodes
    ]


def _task_nodes(graph: Graph, results: set[Key]) -> list[Node]:
    made = [
        Node(
            repr(key),
            graph.labels.get(key_layer(key)) or layer_name(key_layer(key)),
            _detail(key),
            f"{key!r}\n{graph.origins.get(key_layer(key), '')}".strip(),
            key in results,
            [repr(source) for source in task.deps],
        )
        for key, task in sorted(graph.tasks.items(), key=lambda item: item[0] in results)  # results last
    ]
    known = {node.name for node in made}
    held = dict.fromkeys(key for task in graph.tasks.values() for key in task.deps if repr(key) not in known)
    held.update(dict.fromkeys(key for key in results if repr(key) not in known))
    return [*(Node(repr(k), "held", _detail(k), repr(k), k in results) for k in held), *made]


def _detail(key: Key) -> str:
    return key_index(key) if isinstance(key, tuple) else ""


def dot_text(nodes: Sequence[Node]) -> str:
    """Return nodes in Graphviz's language.

    >>> print(dot_text([Node("a", "ones"), Node("b", "sum", sources=["a"], is_result=True)]))
    digraph {
      graph [bgcolor="transparent"];
      node [shape=box, style="rounded,filled", fillcolor="#eef2f7", color="#5b6b7f", fontname="sans-serif"];
      edge [color="#8a97a8"];
      n0 [label="ones", tooltip=""];
      n1 [label="sum", tooltip="", penwidth=2.5];
      n0 -> n1;
    }
    """
    ids = {node.name: f"n{number}" for number, node in enumerate(nodes)}
    lines = [
        "digraph {",
        '  graph [bgcolor="transparent"];',
        '  node [shape=box, style="rounded,filled", fillcolor="#eef2f7", color="#5b6b7f", fontname="sans-serif"];',
        '  edge [color="#8a97a8"];',
    ]
    for node in nodes:
        text = "\\n".join(_quoted(part) for part in (_shortened(node.label), node.detail) if part)
        thick = ", penwidth=2.5" if node.is_result else ""
        lines.append(f'  {ids[node.name]} [label="{text}", tooltip="{_quoted(node.hint)}"{thick}];')
    lines += [f"  {ids[source]} -> {ids[node.name]};" for node in nodes for source in node.sources]
    return "\n".join([*lines, "}"])


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _graphviz(text: str, kind: str) -> bytes | None:
    """Return what Graphviz draws, or None if it isn't there or gives up."""
    program = shutil.which("dot")
    if program is None:
        return None
    try:
        done = subprocess.run([program, f"-T{kind}"], input=text.encode(), capture_output=True, timeout=_GRAPHVIZ_S)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 and done.stdout else None


# The layout of our own: rows by the longest way from a source, boxes ordered by the middle of their neighbours.


def rows_of(nodes: Sequence[Node]) -> list[list[str]]:
    """Return the names of nodes in rows; what a node reads stands in a row above it. Edges that pass a row have a
    place in it, named ``"source\\ntarget\\nrow"``.

    >>> rows_of([Node("a", ""), Node("b", "", sources=["a"]), Node("c", "", sources=["a", "b"])])
    [['a'], ['b', 'a\\nc\\n1'], ['c']]
    """
    level = levels_of(nodes)
    rows: list[list[str]] = [[] for _ in range(1 + max(level.values(), default=-1))]
    for node in nodes:
        rows[level[node.name]].append(node.name)
    links: dict[str, list[str]] = {}
    for node in nodes:
        for source in node.sources:
            path = _path(source, node.name, level)
            for passed in path[1:-1]:
                rows[int(passed.rpartition("\n")[2])].append(passed)
            for above, below in zip(path, path[1:], strict=False):
                links.setdefault(above, []).append(below)
                links.setdefault(below, []).append(above)
    for sweep in range(_SWEEPS):
        order = range(1, len(rows)) if sweep % 2 == 0 else range(len(rows) - 2, -1, -1)
        for number in order:
            beside = rows[number - 1 if sweep % 2 == 0 else number + 1]
            rows[number].sort(key=_middle({name: place for place, name in enumerate(beside)}, links, rows[number]))
    return rows


def _path(source: str, target: str, level: dict[str, int]) -> list[str]:
    passed = [f"{source}\n{target}\n{row}" for row in range(level[source] + 1, level[target])]
    return [source, *passed, target]


def _middle(places: dict[str, int], links: dict[str, list[str]], row: Sequence[str]) -> Callable[[str], float]:
    now = {name: place for place, name in enumerate(row)}

    def middle(name: str) -> float:
        found = [places[other] for other in links.get(name, ()) if other in places]
        return sum(found) / len(found) if found else now[name]

    return middle


def svg_text(nodes: Sequence[Node]) -> str:
    """Return a drawing of nodes in rows, sources at the top."""
    by_name = {node.name: node for node in nodes}
    rows = rows_of(nodes)
    widths = {name: _width(by_name[name]) if name in by_name else 2.0 for row in rows for name in row}
    row_widths = [sum(widths[name] + _BOX_GAP for name in row) - _BOX_GAP for row in rows]
    width = max(row_widths, default=0.0) + 2 * _MARGIN
    height = max(0.0, len(rows) * (_BOX_HEIGHT + _ROW_GAP) - _ROW_GAP) + 2 * _MARGIN
    place: dict[str, tuple[float, float]] = {}
    for number, (row, row_width) in enumerate(zip(rows, row_widths, strict=True)):
        x = (width - row_width) / 2
        for name in row:
            place[name] = (x + widths[name] / 2, _MARGIN + number * (_BOX_HEIGHT + _ROW_GAP))
            x += widths[name] + _BOX_GAP
    level = {name: number for number, row in enumerate(rows) for name in row}
    edges = [_edge([place[name] for name in _path(s, node.name, level)]) for node in nodes for s in node.sources]
    boxes = [_box(node, *place[node.name], widths[node.name]) for node in nodes]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
            f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="sans-serif" font-size="12" text-anchor="middle" '
            f'role="img" aria-label="graph of {len(nodes)} nodes">',
            f'<g fill="none" stroke="#8a97a8">{"".join(edges)}</g>',
            *boxes,
            "</svg>",
        ]
    )


def _edge(points: Sequence[tuple[float, float]]) -> str:
    """Return a curve from the bottom of a box through passed rows to the top of another."""
    (x, y), *rest = points
    parts = [f"M{x:.1f} {y + _BOX_HEIGHT:.1f}"]
    for number, (to_x, to_y) in enumerate(rest):
        from_y, half = y + _BOX_HEIGHT, _ROW_GAP / 2
        parts.append(f"C{x:.1f} {from_y + half:.1f} {to_x:.1f} {to_y - half:.1f} {to_x:.1f} {to_y:.1f}")
        if number < len(rest) - 1:
            parts.append(f"L{to_x:.1f} {to_y + _BOX_HEIGHT:.1f}")
        x, y = to_x, to_y
    return f'<path d="{" ".join(parts)}"/>'


def _box(node: Node, x: float, y: float, width: float) -> str:
    stroke = 2.5 if node.is_result else 1
    label_y = y + _BOX_HEIGHT / 2 + (-2 if node.detail else 4)
    texts = [f'<text x="{x:.1f}" y="{label_y:.1f}" fill="#1d2733">{html.escape(_shortened(node.label))}</text>']
    if node.detail:
        detail = html.escape(_shortened(node.detail))
        texts.append(f'<text x="{x:.1f}" y="{label_y + 13:.1f}" font-size="10" fill="#526071">{detail}</text>')
    return (
        f"<g><title>{html.escape(node.hint)}</title>"
        f'<rect x="{x - width / 2:.1f}" y="{y:.1f}" width="{width:.1f}" height="{_BOX_HEIGHT:.0f}" rx="6" '
        f'fill="#eef2f7" stroke="#5b6b7f" stroke-width="{stroke}"/>{"".join(texts)}</g>'
    )


def _width(node: Node) -> float:
    return max(44.0, _CHARACTER * max(len(_shortened(node.label)), len(_shortened(node.detail))) + 16)


def _shortened(text: str) -> str:
    return text if len(text) <= _MAX_LABEL else text[: _MAX_LABEL - 1] + "…"
