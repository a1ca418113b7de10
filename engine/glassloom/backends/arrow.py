"""Arrow's arrays and tables: their sizes and tokens. They can't be changed, so nothing is needed to share them."""

from __future__ import annotations

import hashlib
import io
from typing import Any

import pyarrow as pa

from glassloom.backends.sizeof import register_sizeof
from glassloom.graph import normalize_token

_OBJECT_BYTES = 100
_DIGEST_BYTES = 32
_PADDING = 512
_SMALL = 2**16


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
    return value.schema, _ipc_digest(value.combine_chunks() if isinstance(value, pa.Table) else value)


@normalize_token(pa.ChunkedArray)
def _normalize_chunked(value: pa.ChunkedArray) -> Any:
    if value.num_chunks == 1 and _shows_all(value.chunk(0)):
        return _normalize_array(value.chunk(0))
    return _normalize_array(value.combine_chunks())


def _shows_all(value: pa.Array) -> bool:
    """Whether an array has the same buffers as if it were joined with others, which would copy them."""
    is_whole = value.offset == 0 and value.get_total_buffer_size() <= value.nbytes + _PADDING
    return is_whole and (value.buffers()[0] is None or value.null_count > 0)


def _normalize_array(value: Any) -> Any:
    if isinstance(value, pa.ChunkedArray):  # too long for one chunk
        return [_normalize_array(chunk) for chunk in value.chunks]
    return value.type, _ipc_digest(pa.record_batch([value], names=["values"]))


for _array_class in [kind for kind in vars(pa.lib).values() if isinstance(kind, type) and issubclass(kind, pa.Array)]:
    normalize_token(_array_class)(_normalize_array)


class _Hasher(io.RawIOBase):
    """A file that is hashed instead of kept: the bytes of a column may be as large as what memory is left."""

    def __init__(self) -> None:
        self.hash = hashlib.blake2b(digest_size=_DIGEST_BYTES)

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self.hash.update(data)
        return len(data)


def _ipc_digest(value: Any) -> bytes:
    """Return the hash of a table or batch as it is sent; the kind of file, of which the small one is quicker, doesn't matter."""
    hasher = _Hasher()
    sink = pa.BufferOutputStream() if value.nbytes <= _SMALL else pa.PythonFile(hasher, mode="w")
    with pa.ipc.new_stream(sink, value.schema) as writer:
        writer.write(value)
    if value.nbytes <= _SMALL:
        hasher.write(sink.getvalue())
    return hasher.hash.digest()
