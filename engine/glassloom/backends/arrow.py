"""Arrow's arrays and tables: their sizes. They can't be changed, so nothing is needed to share them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from glassloom.backends.sizeof import register_sizeof

_OBJECT_BYTES = 100


@register_sizeof(pa.Array)
@register_sizeof(pa.ChunkedArray)
@register_sizeof(pa.RecordBatch)
@register_sizeof(pa.Table)
def _sizeof_arrow(value: Any) -> int:
    """Return the bytes of the rows that it shows; those of a slice, not of all that the slice was cut from."""
    return _OBJECT_BYTES + int(value.nbytes)


@register_sizeof(pa.Buffer)
def _sizeof_buffer(value: pa.Buffer) -> int:
    return _OBJECT_BYTES + int(value.size)
