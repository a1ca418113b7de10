"""File names given as a path, a glob, a folder or a list of those, turned into files. Symbolic links are followed everywhere."""

from __future__ import annotations

import errno
import glob
import os
import re
from collections.abc import Callable, Iterator, Sequence

from glassloom.errors import ReadError

PathLike = str | os.PathLike[str]


def find_files(paths: PathLike | Sequence[PathLike], suffixes: tuple[str, ...]) -> list[str]:
    """Return the files, in natural order within each folder or glob (``part.2`` before ``part.10``).

    Parameters
    ----------
    paths
        Files, globs and folders. Of a folder and those in it, the files with one of the suffixes count,
        hidden ones don't. A glob stands for the files that it fits; if it fits folders alone, for what they hold.

    Raises
    ------
    FileNotFoundError
        If a path doesn't exist, a glob or folder yields no file, or one of its links leads nowhere.
    ReadError
        If a path is a pipe or a device.
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
        inside = _inside(path, suffixes)
        if not inside:
            raise FileNotFoundError(f"folder {path!r} holds no {kinds_of(suffixes)} file")
        return _without_broken_links(inside)
    if os.path.exists(path):
        _require_regular(path)
        return [path]
    if glob.has_magic(path):
        fitting = glob.glob(path, recursive=True)
        matching = [found for found in fitting if not os.path.isdir(found)]
        if not matching:
            matching = list(dict.fromkeys(file for folder in fitting for file in _inside(folder.rstrip("/"), suffixes)))
        if not matching:
            raise FileNotFoundError(f"no file matches {path!r} in {os.getcwd()!r}")
        return _without_broken_links(matching)
    require_no_loop(path)
    raise FileNotFoundError(f"file {path!r} doesn't exist" + ("" if os.path.isabs(path) else f" in {os.getcwd()!r}"))


def _inside(folder: str, suffixes: tuple[str, ...]) -> list[str]:
    """Return the files of a folder, and of those in it, that count."""
    names = names_below(folder, enters=lambda name: not is_hidden(name))
    return [os.path.join(folder, name) for name in names if is_data_file(name, suffixes)]


def _without_broken_links(paths: list[str]) -> list[str]:
    """Return the files among paths, in natural order; pipes and devices are left out.

    Raises
    ------
    FileNotFoundError
        If one is a link that leads nowhere: without it, rows would be missing unnoticed.
    """
    for path in paths:
        if not os.path.exists(path):
            raise FileNotFoundError(f"{path!r} is a symbolic link to {os.path.realpath(path)!r}, which doesn't exist")
    return sorted((path for path in paths if os.path.isfile(path)), key=natural_key)


def _require_regular(path: str) -> None:
    if not os.path.isfile(path):
        raise ReadError(
            f"{path!r} is a pipe or a device, which can be read only once; save what it yields into a file, or give what "
            "pandas reads of it to from_pandas()"
        )


def names_below(folder: str, *, recursive: bool = True, enters: Callable[[str], bool] | None = None) -> Iterator[str]:
    """Yield the names, relative to a folder, of all in it that isn't a folder. Folders that are gone meanwhile are left out.

    Parameters
    ----------
    recursive
        Whether to look into folders in it, and into those that links lead to, unless they lead upwards.
    enters
        Whether to look into a folder of this name.
    """
    yield from _names_below(folder, "", (os.path.realpath(folder),), recursive, enters)


def _names_below(
    folder: str, before: str, above: tuple[str, ...], recursive: bool, enters: Callable[[str], bool] | None
) -> Iterator[str]:
    try:
        entries = list(os.scandir(folder))
    except FileNotFoundError:
        return
    for entry in entries:
        if not _is_folder(entry):
            yield before + entry.name
        elif recursive and (enters is None or enters(entry.name)):
            place = os.path.realpath(entry.path) if entry.is_symlink() else f"{above[-1]}/{entry.name}"
            if not any(f"{one}/".startswith(f"{place.rstrip('/')}/") for one in above):
                yield from _names_below(entry.path, f"{before}{entry.name}/", (*above, place), recursive, enters)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link that leads to itself
        return False


def followed(path: str) -> str:
    """Return the absolute path that links lead to; the last part of it may not exist yet.

    Raises
    ------
    OSError
        If the links lead to each other.
    """
    require_no_loop(path)
    return os.path.realpath(path)


def require_no_loop(path: str) -> None:
    """Check that links of a path don't lead to each other: as opening it does."""
    try:
        os.stat(path)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise


def is_hidden(name: str) -> bool:
    """Whether a file or folder in a folder of data is not part of them.

    >>> is_hidden("_metadata"), is_hidden(".part-0.crc"), is_hidden("_year=2024")
    (True, True, False)
    """
    return name.startswith((".", "_")) and "=" not in name


def kinds_of(suffixes: Sequence[str]) -> str:
    """Return suffixes for people, without those of compressed files.

    >>> kinds_of((".csv", ".csv.gz", ".txt"))
    '.csv or .txt'
    """
    return " or ".join(suffix for suffix in suffixes if suffix.count(".") == 1)


def is_data_file(name: str, suffixes: tuple[str, ...]) -> bool:
    """Whether a file of a folder counts: it has one of the suffixes, and no part of its path there is hidden.

    >>> is_data_file("k=1/a.csv", (".csv",)), is_data_file("_old/a.csv", (".csv",))
    (True, False)
    """
    return not any(map(is_hidden, name.replace(os.sep, "/").split("/"))) and name.lower().endswith(suffixes)


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
