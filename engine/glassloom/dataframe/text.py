"""Representations of frames as text and as HTML, made without computing anything."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from glassloom.dataframe.nodes import FrameExpr
from glassloom.expr import lower, optimize
from glassloom.reprs import render
from glassloom.reprs.block_states import block_states, held_bytes, held_values, is_on_gpu, states_html
from glassloom.reprs.chunk_advice import chunk_advice

_SHOWN_PARTITIONS = 8
_SHOWN_COLUMNS = 12
_SHOWN_CHARACTERS = 28
_MAX_COUNTED = 10_000


def frame_text(frame: Any) -> str:
    """Return the structure as text: a row for each division, a column for each column with its dtype."""
    kind = type(frame).__name__
    names, dtypes = _columns(frame.expr.meta)
    table = [["", *names], [f"npartitions={frame.npartitions}", *dtypes]]
    table += [[label, *["..."] * len(names)] for label in _labels(frame.expr)]
    widths = [max(len(row[place]) for row in table) for place in range(len(names) + 1)]
    lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in table]
    return "\n".join([f"{kind} structure:", *lines, f"{_rows(frame.expr)}, {_tasks(frame.expr)}, {frame.expr.label}"])


def frame_html(frame: Any, told: Sequence[str] = ()) -> str:
    """Return the structure as HTML; `told`: see `block_states`."""
    node = frame.expr
    names, dtypes = _columns(node.meta)
    facts = [("Rows", _rows(node).removesuffix(" rows").replace("rows not known", "not known"))]
    if isinstance(node.meta, pd.DataFrame):
        facts.append(("Columns", f"{len(node.meta.columns):,}"))
    held = held_values(node)
    states = block_states(held, told, is_on_gpu=is_on_gpu(node))
    facts += [("Partitions", f"{node.npartitions:,}"), ("Tasks", _tasks(node).removesuffix("s").removesuffix(" task"))]
    return render(
        "dataframe.html.j2",
        title=type(frame).__name__,
        subtitle=node.label,
        facts=facts,
        index=_shortened(_index_name(node.meta)),
        columns=[{"name": name, "full": full, "dtype": dtype} for name, full, dtype in zip(
            names, _full_names(node.meta), dtypes, strict=True)],
        labels=_labels(node),
        known=node.divisions[0] is not None,
        states=states_html(states, held_bytes(held), was_told=bool(told)),
        advice=_advice(node),
        origin=str(node.origin or ""),
    )  # fmt: skip


def _advice(node: FrameExpr) -> str:
    """Return advice if partitions are too small or too large, as far as lengths are known: of text only the references count."""
    lengths = node.lengths
    if not lengths:
        return ""
    row_bytes = _row_bytes(node.meta)
    return chunk_advice(
        len(lengths),
        row_bytes * sum(lengths),
        row_bytes * max(lengths),
        noun="partitions",
        remedy="repartition(npartitions=...)",
    )


def _row_bytes(meta: Any) -> int:
    dtypes = list(meta.dtypes) if isinstance(meta, pd.DataFrame) else [meta.dtype]
    return sum(getattr(dtype, "itemsize", 8) for dtype in dtypes) or 8


def scalar_html(scalar: Any) -> str:
    """Return what is known of a lazy value as HTML."""
    node = scalar.expr
    return render(
        "dataframe.html.j2",
        title="Scalar",
        subtitle=node.label,
        facts=[("Dtype", str(scalar.dtype)), ("Tasks", _tasks(node).removesuffix("s").removesuffix(" task"))],
        index="", columns=[], labels=[], known=False, states="", advice="", origin=str(node.origin or ""),
    )  # fmt: skip


def _columns(meta: Any) -> tuple[list[str], list[str]]:
    """Return the columns' names and dtypes, shortened, with an ellipsis for those in the middle."""
    if isinstance(meta, pd.DataFrame):
        pairs = [(_shortened(name), _shortened(dtype)) for name, dtype in zip(meta.columns, meta.dtypes, strict=True)]
    else:
        pairs = [(_shortened("" if meta.name is None else meta.name), _shortened(meta.dtype))]
    if len(pairs) > _SHOWN_COLUMNS:
        half = _SHOWN_COLUMNS // 2
        pairs = [*pairs[:half], ("…", "…"), *pairs[-half:]]
    return [name for name, _ in pairs], [dtype for _, dtype in pairs]


def _full_names(meta: Any) -> list[str]:
    names = [str(name) for name in meta.columns] if isinstance(meta, pd.DataFrame) else [str(meta.name)]
    if len(names) > _SHOWN_COLUMNS:
        half = _SHOWN_COLUMNS // 2
        left_out = len(names) - 2 * half
        names = [*names[:half], f"{left_out} more columns", *names[-half:]]
    return names


def _labels(node: FrameExpr) -> list[str]:
    """Return the divisions as text, with an ellipsis in the middle; blanks if they are not known."""
    labels = [_shortened("" if label is None else label) for label in node.divisions]
    if len(labels) > _SHOWN_PARTITIONS + 1:
        half = _SHOWN_PARTITIONS // 2
        labels = [*labels[:half], "…", *labels[-half:]]
    return labels


def _rows(node: FrameExpr) -> str:
    lengths = node.lengths
    return "rows not known" if lengths is None else f"{sum(lengths):,} rows"


def _tasks(node: FrameExpr) -> str:
    """Return the number of tasks that computing would run; of many partitions, about how many."""
    if node.npartitions > _MAX_COUNTED:
        return f"over {node.npartitions:,} tasks"
    graph, _ = lower(optimize([node]))
    return f"{len(graph):,} task{'' if len(graph) == 1 else 's'}"


def _index_name(meta: Any) -> Any:
    index = meta if isinstance(meta, pd.Index) else meta.index
    return "" if index.name is None else index.name


def _shortened(value: Any) -> str:
    """Return text of at most a few words, on one line."""
    text = " ".join(str(value).split())
    if isinstance(value, pd.Timestamp) and text.endswith(" 00:00:00"):
        text = text.removesuffix(" 00:00:00")
    return text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 1] + "…"
