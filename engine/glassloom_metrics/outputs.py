"""Where recordings, reports and exports may be written: one rule for all."""

from __future__ import annotations

import os
import stat
from pathlib import Path

_KINDS = {
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFLNK: "a symbolic link to itself",
    stat.S_IFDIR: "a folder",
}


def output_path(
    path: str | os.PathLike[str], *, source: str | os.PathLike[str] | None = None, may_be_folder: bool = False
) -> Path:
    """Return where to write, as an absolute path; of a symbolic link what it leads to, so that the link stays.

    Parameters
    ----------
    path
        As the user gave it.
    source
        What is read to write it.
    may_be_folder
        Whether a folder that is there may be replaced.

    Raises
    ------
    IsADirectoryError
        If there is a folder.
    FileExistsError
        If there is something else that is no regular file, such as a device, or it is the `source`.
    """
    shown = os.fspath(path)
    target = Path(os.path.realpath(path) if os.path.islink(path) else path).absolute()
    try:
        kind = stat.S_IFMT(os.lstat(target).st_mode)
    except FileNotFoundError:
        return target
    if kind == stat.S_IFDIR:
        if not may_be_folder:
            raise IsADirectoryError(f"can't write to {shown!r}: it is a folder")
    elif kind != stat.S_IFREG:
        raise FileExistsError(f"can't write to {shown!r}: it is {_KINDS.get(kind, 'something')}, no regular file")
    if source is not None and os.path.exists(source) and os.path.samefile(source, target):
        raise FileExistsError(f"can't write to {shown!r}: that is the recording itself, which it is made from")
    return target


def kind_of(mode: int) -> str:
    """Return what `os.stat` found in words: ``""`` for a regular file."""
    return _KINDS.get(stat.S_IFMT(mode), "")
