"""What a task is called, and the address of its page: a path beside the other pages of its cluster. Pure.

>>> task_href(12, "3, 4"), task_of("12:3, 4")
('task?open=12%3A3%2C%204', (12, '3, 4'))
>>> key_words("sum", "3, 4"), key_words("load", "")
('sum[3, 4]', 'load')
"""

from __future__ import annotations

from urllib.parse import quote

from glassloom_dashboards.folds.aggregate import ClusterAggregate
from glassloom_dashboards.parts.theme import middle_cut

MAX_INDEX_LENGTH = 150
"""The page of a task whose key is longer is opened by its row."""
_MAX_LENGTH = 300
_ROW = "row"


def key_words(name: str, index: str) -> str:
    """Return what a person calls a task of a layer whose keys are tuples, or aren't known."""
    return f"{name}[{index}]" if index else name


def task_words(
    aggregate: ClusterAggregate, layer: int, index: str, *, name_length: int = 80, index_length: int = 120
) -> str:
    """Return what a person calls a task: its key if that is a text, else its operation and index. Long ones are cut."""
    first, is_text = first_words(aggregate, layer, name_length)
    cut = middle_cut(index, index_length)
    return (f"{first}-{cut}" if index else first) if is_text else key_words(first, cut)


def first_words(aggregate: ClusterAggregate, layer: int, name_length: int = 80) -> tuple[str, bool]:
    """Return what the names of a layer's tasks begin with, and whether a dash and their index follow, as in keys that are texts.

    Else the index follows in brackets. The function ``task`` of ``static/glassloom.js`` puts them together in hover cards.
    """
    known = aggregate.layers.get(layer)
    if known is not None and known.prefix and not known.is_tuple:
        return middle_cut(known.prefix, name_length), True
    return middle_cut(aggregate.layer_name(layer), name_length), False


def task_href(layer: int, index: str, row: int | None = None) -> str:
    """Return where the page of a task is; ``""`` if nothing leads to it: its key is long, and it has no row."""
    named = quote(f"{layer}:{index[: MAX_INDEX_LENGTH + 1]}", safe="")
    if len(index) <= MAX_INDEX_LENGTH and len(named) <= _MAX_LENGTH:
        return f"task?open={named}"
    return "" if row is None else f"task?open={_ROW}:{row}"


def task_of(text: str) -> tuple[int, str] | None:
    """Return the layer and the rest of the key that an address means; None if it means something else."""
    layer, colon, index = text.partition(":")
    return (int(layer), index) if colon and layer.isascii() and layer.isdigit() and len(layer) < 11 else None


def row_of(text: str) -> int | None:
    """Return the row of the task table that an address means; None if it means something else.

    >>> row_of("row:77"), row_of("12:3")
    (77, None)
    """
    kind, colon, row = text.partition(":")
    return int(row) if kind == _ROW and colon and row.isascii() and row.isdigit() and len(row) < 16 else None
