"""Where Zarr arrays are: in a folder of this machine, on a server, or in this process alone. It doesn't import ``zarr``."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from glassloom.array.sources.versions import stamp_of
from glassloom.errors import ReadError

_METADATA = ("zarr.json", ".zarray", ".zgroup")
_SERVERS = {
    "abfs", "abfss", "adl", "az", "ftp", "gcs", "gs", "hdfs", "http", "https", "oci", "oss", "s3", "s3a", "sftp", "ssh",
    "webhdfs",
}  # fmt: skip
"""Protocols of fsspec with which all processes reach the same files."""
_SERVER_STORES = {"AzureStore", "GCSStore", "HTTPStore", "S3Store", "LocalStore"}
"""Classes of obstore with which all processes reach the same files."""


def is_zarr(array: Any) -> bool:
    """Whether an object is one of Zarr's."""
    return type(array).__module__.partition(".")[0] == "zarr"


def folder_of(array: Any) -> Path | None:
    """Return the folder of a Zarr array in local files, without symbolic links; None if it is elsewhere."""
    store = array.store
    kind = type(store).__name__
    if kind == "LocalStore":
        return Path(os.path.realpath(store.root / array.path))
    if kind == "FsspecStore" and "file" in _protocols(store):
        return Path(os.path.realpath(os.path.join(store.path, array.path)))
    return None


def folder_at(url: Any, component: str | None) -> Path | None:
    """Return the folder of local files that a path, URL or store of an array stands for; None if it is elsewhere."""
    if type(url).__name__ == "LocalStore":
        root = url.root
    elif isinstance(url, (str, Path)):
        root = str(url).removeprefix("file://")
    else:
        return None
    if "://" in str(root) or "::" in str(root) or os.path.isfile(root):
        return None
    return Path(os.path.realpath(os.path.join(root, component or "")))


def is_node(folder: Path) -> bool:
    """Whether a folder is a Zarr array or group."""
    return any((folder / name).exists() for name in _METADATA)


def is_everywhere(array: Any) -> bool:
    """Whether what another process writes to a Zarr array is written: it is known to be in files or on a server."""
    store = array.store
    if folder_of(array) is not None:
        return True
    if type(store).__name__ == "FsspecStore":
        return bool(_protocols(store) & _SERVERS)
    if type(store).__name__ == "ObjectStore":
        return type(store.store).__name__ in _SERVER_STORES
    return False


def identity_of_zarr(array: Any) -> str:
    """Return what is equal for two Zarr arrays that are one, whatever paths they were opened by."""
    folder = folder_of(array)
    if folder is not None:
        return f"file:{folder}"
    if type(array.store).__name__ == "FsspecStore":
        return f"{sorted(_protocols(array.store))}:{array.store.path.rstrip('/')}/{array.path}"
    return str(array.store_path)


def with_absolute_path(array: Any) -> Any:
    """Return a Zarr array that doesn't depend on the folder that the process is in: workers are in others."""
    store = array.store
    if type(store).__name__ != "LocalStore" or store.root.is_absolute():
        return array
    absolute = type(store)(store.root.absolute(), read_only=store.read_only)
    mode = "r" if array.read_only else "r+"
    return sys.modules["zarr"].open_array(absolute, path=array.path, mode=mode, zarr_format=array.metadata.zarr_format)


class Layout:
    """What the file of metadata says of a Zarr array in a folder, apart from attributes, when it is opened."""

    def __init__(self, array: Any, path: Path) -> None:
        self._path, self._stamp, self._metadata = path, stamp_of(path), metadata_of(array)

    def check(self, array: Any) -> None:
        """Raise `ReadError` if there is another array by now: its chunks can't be read as those of the old one."""
        if stamp_of(self._path) == self._stamp:
            return
        is_same = False
        if self._path.exists():
            again = sys.modules["zarr"].open_array(array.store, path=array.path, mode="r")
            is_same = metadata_of(again) == self._metadata
        if not is_same:
            raise ReadError(
                f"the Zarr array in {str(self._path.parent)!r} was replaced or removed; call from_zarr again"
            )


def layout_of(array: Any) -> Layout | None:
    """Return the layout of a Zarr array in a folder; None if it is elsewhere."""
    folder = folder_of(array)
    found = [folder / name for name in ("zarr.json", ".zarray") if (folder / name).exists()] if folder else []
    return Layout(array, found[0]) if found else None


def metadata_of(array: Any) -> str:
    """Return what an open Zarr array says of itself, apart from attributes."""
    return repr({name: value for name, value in array.metadata.to_dict().items() if name != "attributes"})


def _protocols(store: Any) -> set[str]:
    found = store.fs.protocol
    return {found} if isinstance(found, str) else set(found)
