"""Compression of files that are written: which one, how their names end, and the compressed bytes. pandas compresses them."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pandas.io.common import get_handle  # type: ignore[import-not-found]

ENDINGS = {"gzip": ".gz", "bz2": ".bz2", "xz": ".xz", "zstd": ".zst", "zip": ".zip", "tar": ".tar"}
"""The ends of the names of compressed files."""
_WHOLE = frozenset(["zip", "tar", "zstd"])


def method_of(compression: Any) -> str | None:
    """Return the method of a compression as pandas takes it: a name, or a dict with its options."""
    method: str | None = compression.get("method") if isinstance(compression, dict) else compression
    return method


def chosen_compression(path: str, compression: Any) -> Any:
    """Return how to compress a file: ``"infer"`` goes by the end of its name.

    >>> chosen_compression("a.csv.gz", "infer"), chosen_compression("a.csv", "infer"), chosen_compression("a.gz", None)
    ('gzip', None, None)
    """
    if method_of(compression) != "infer":
        return compression
    found = next((method for method, ending in ENDINGS.items() if path.endswith(ending)), None)
    if isinstance(compression, dict):
        return None if found is None else {**compression, "method": found}
    return found


def ending_of(compression: Any) -> str:
    """Return the end of the name of a compressed file."""
    return ENDINGS.get(method_of(compression) or "", "")


def can_be_joined(compression: Any) -> bool:
    """Whether compressed files, one after the other, are a compressed file to its readers."""
    return method_of(compression) not in _WHOLE


def compressed(data: bytes, compression: Any, name: str) -> bytes:
    """Return compressed bytes. In an archive they have a file's name without the end that tells the compression."""
    if compression is None:
        return data
    sink = io.BytesIO()
    with compressing(sink, compression, name) as target:
        target.write(data)
    return sink.getvalue()


@contextmanager
def compressing(sink: Any, compression: Any, name: str) -> Iterator[Any]:
    """Open what compresses bytes that are written to it into an open file."""
    if compression is None:
        yield sink
        return
    if method_of(compression) in ("zip", "tar"):
        given = compression if isinstance(compression, dict) else {"method": compression}
        compression = {"archive_name": name.rpartition("/")[2].removesuffix(ending_of(compression)), **given}
    with get_handle(sink, "wb", compression=compression, is_text=False) as handles:
        yield handles.handle


def beginning_of(data: bytes, compression: Any, n_bytes: int) -> bytes:
    """Return the first bytes of compressed ones, without the compression."""
    with get_handle(io.BytesIO(data), "rb", compression=compression, is_text=False) as handles:
        return bytes(handles.handle.read(n_bytes))
