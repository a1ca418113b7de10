"""File names given as a path, a glob, a folder or a list of those, turned into files."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Sequence
from pathlib import Path

PathLike = str | os.PathLike[str]


def find_files(paths: PathLike | Sequence[PathLike], suffixes: tuple[str, ...]) -> list[str]:
    """Return the files, in natural order within each folder or glob (``part.2`` before ``part.10``).

    Parameters
    ----------
    paths
        Files, globs and folders. Of a folder and those in it, the files with one of the suffixes count,
        hidden ones don't.

    Raises
    ------
    FileNotFoundError
        If a path doesn't exist or a glob or folder yields no file.
    """
    many = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    if not many:
        raise FileNotFoundError("no path was given")
    found: list[str] = []
    for path in many:
        found.extend(_expand(os.path.expanduser(os.fspath(path)), suffixes))
    return found


def _expand(path: str, suffixes: tuple[str, ...]) -> list[str]:
    if os.path.isdir(path):
        inside = [
            str(file)
            for file in Path(path).rglob("*")
            if file.is_file() and is_data_file(str(file.relative_to(path)), suffixes)
        ]
        if not inside:
            raise FileNotFoundError(f"folder {path!r} holds no {' or '.join(suffixes)} file")
        return sorted(inside, key=natural_key)
    if os.path.exists(path):
        return [path]
    if glob.has_magic(path):
        matching = [file for file in glob.glob(path, recursive=True) if os.path.isfile(file)]
        if not matching:
            raise FileNotFoundError(f"no file matches {path!r} in {os.getcwd()!r}")
        return sorted(matching, key=natural_key)
    raise FileNotFoundError(f"file {path!r} doesn't exist" + ("" if os.path.isabs(path) else f" in {os.getcwd()!r}"))


def is_data_file(name: str, suffixes: tuple[str, ...]) -> bool:
    """Whether a file of a folder counts: it has one of the suffixes, and no part of its path there is hidden.

    >>> is_data_file("k=1/a.csv", (".csv",)), is_data_file("_old/a.csv", (".csv",))
    (True, False)
    """
    is_hidden = any(part.startswith((".", "_")) and "=" not in part for part in name.replace(os.sep, "/").split("/"))
    return not is_hidden and name.lower().endswith(suffixes)


def natural_key(path: str) -> list[tuple[int, int | str]]:
    """Return a key that sorts numbers in names by their value.

    >>> sorted(["b10", "b9", "a"], key=natural_key)
    ['a', 'b9', 'b10']
    """
    return [(0, int(part)) if part.isdecimal() else (1, part) for part in re.split(r"(\d+)", path) if part]


def file_state(path: str) -> tuple[str, int, int]:
    """Return the identity of a version of a file: its path, size in bytes and time of change in ns."""
    found = os.stat(path)
    return (os.path.abspath(path), found.st_size, found.st_mtime_ns)
