"""Arrow's arrays and tables: their sizes and tokens. They can't be changed, so nothing is needed to share them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from glassloom.backends.sizeof import register_sizeof
from glassloom.graph import normalize_token

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


# Tokens: by content, without the rows that a slice doesn't show.


@normalize_token(pa.Table)
@normalize_token(pa.RecordBatch)
def _normalize_table(value: Any) -> Any:
    return value.schema, _ipc_bytes(value.combine_chunks() if isinstance(value, pa.Table) else value)


@normalize_token(pa.ChunkedArray)
def _normalize_chunked(value: pa.ChunkedArray) -> Any:
    return _normalize_array(value.combine_chunks())


def _normalize_array(value: Any) -> Any:
    if isinstance(value, pa.ChunkedArray):  # too long for one chunk
        return [_normalize_array(chunk) for chunk in value.chunks]
    return value.type, _ipc_bytes(pa.record_batch([value], names=["values"]))


for _array_class in [kind for kind in vars(pa.lib).values() if isinstance(kind, type) and issubclass(kind, pa.Array)]:
    normalize_token(_array_class)(_normalize_array)


def _ipc_bytes(value: Any) -> memoryview:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, value.schema) as writer:
        writer.write(value)
    return memoryview(sink.getvalue())
