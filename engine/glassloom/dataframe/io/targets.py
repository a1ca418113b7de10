"""Where frames are written: a folder, a name with a star in it, or a single file. It is looked at before anything is written."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow.fs as pa_fs

from glassloom.dataframe.io.compression import ENDINGS
from glassloom.dataframe.io.filesystems import LOCAL, locate
from glassloom.dataframe.io.paths import PathLike, followed, is_hidden
from glassloom.dataframe.io.staging import Staging, names_by, numbered, staging_in

NameFunction = Callable[[int], str]


def path_text(method: str, path: Any) -> str:
    """Return a path as text.

    Raises
    ------
    TypeError
        If it is none, as where pandas returns the text, or writes into a buffer.
    FileNotFoundError
        If it is empty.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(
            f"{method}: path={path!r} should be the path of a folder or a file; for text or a buffer: compute().{method}(...)"
        )
    if not os.fspath(path):
        raise FileNotFoundError(f"{method}: path={path!r} is empty; '.' is the folder of the process")
    return os.fspath(path)


def listed_paths(
    method: str, path: Any, npartitions: int, name_function: NameFunction | None
) -> tuple[tuple[str, ...], str]:
    """Return the paths of the partitions' files where they are listed, none otherwise; and the path of a folder or file, or the first of those.

    Raises
    ------
    ValueError
        If there isn't a path for each partition, or one comes twice.
    """
    if not isinstance(path, (list, tuple)):
        return (), path_text(method, path)
    listed = tuple(path_text(method, one) for one in path)
    if len(set(listed)) != npartitions or len(listed) != npartitions:
        raise ValueError(
            f"{method}: {len(set(listed))} different paths were given for {npartitions} partitions: {listed[:3]}"
        )
    if name_function is not None:
        raise ValueError(
            f"{method}: a list of paths names the files, and so does name_function={name_function!r}; give one of them"
        )
    return listed, listed[0]


def require_known(options: dict[str, Any], function: Callable[..., Any], method: str, own: Sequence[str]) -> None:
    """Check that a function that tasks call takes some options; `own` are those that tasks give.

    Raises
    ------
    TypeError
        If not: before anything is computed.
    """
    known = [name for name in inspect.signature(function).parameters if name not in (*own, "self", "kwargs")]
    for name in options:
        if name not in known:
            raise TypeError(f"{method}() got an unexpected keyword argument {name!r}; there are {', '.join(known)}")


def prepare(
    path: PathLike,
    suffixes: str | tuple[str, ...],
    filesystem: Any,
    storage_options: dict[str, Any] | None,
    *,
    may_exist: bool,
    pattern: str | None = None,
    instead: str = "",
) -> tuple[Staging, list[str]]:
    """Return where to write, and the names of the files that are there.

    Parameters
    ----------
    suffixes
        The ends of the names of files that count.
    pattern
        Which of those count, in the folder itself; None: all, also those in folders in it.
    instead
        What else may be done where a file has the name of the folder.

    Raises
    ------
    FileExistsError
        If there are such files and they may not exist, or a file has the name of the folder.
    NotADirectoryError
        If a folder above is a file.
    """
    staging = prepare_folder(path, filesystem, storage_options, instead)
    old = staging.found(suffixes, pattern)
    if old and not may_exist:
        kind = suffixes if isinstance(suffixes, str) else suffixes[0]
        which = "" if pattern is None else f" named like {pattern!r}"
        raise FileExistsError(
            f"folder {staging.folder!r} holds {len(old)} {kind[1:]} files{which} already; give overwrite=True to replace them"
        )
    return staging, old


def prepare_folder(
    path: PathLike, filesystem: Any, storage_options: dict[str, Any] | None, instead: str = ""
) -> Staging:
    """Return where to write, whatever is there.

    Parameters
    ----------
    instead
        What else may be done where a file has the name of the folder.

    Raises
    ------
    FileExistsError
        If a file has the name of the folder.
    NotADirectoryError
        If a folder above is a file.
    """
    files, (folder,) = locate(path, filesystem, storage_options)
    staging = staging_in(files, followed(folder) if files == LOCAL else folder)
    if staging.filesystem.get_file_info(staging.folder).is_file:
        raise FileExistsError(
            f"{staging.folder!r} is a file; one file a partition is written into a folder of that name: give the name of a folder"
            + (f", or {instead}" if instead else "")
        )
    for above in staging.folders_above():
        if staging.filesystem.get_file_info(above).is_file:
            raise NotADirectoryError(f"{staging.folder!r} can't be made: {above!r} is a file")
    return staging


class Place:
    """Where text files go: a folder, a name with a star in it, or a single file.

    Parameters
    ----------
    suffix, ending
        The end of the names of the files: that of their kind, and that of their compression.
    exclusive
        Whether the single file must not exist.
    adds
        Whether rows are added to those that the single file has.

    Raises
    ------
    FileExistsError
        If there are files that may not be, or that fit a name with a star though readers of a folder leave them out.
    """

    def __init__(
        self,
        path: str,
        suffix: str,
        ending: str,
        where: dict[str, Any],
        *,
        single_file: bool = False,
        name_function: NameFunction | None = None,
        overwrite: bool = False,
        exclusive: bool = False,
        adds: bool = False,
        listed: tuple[str, ...] = (),
    ) -> None:
        self.path, self.adds = path, adds
        self.listed: tuple[str, ...] = ()
        if listed:
            self._take_list(listed, suffix, ending, where, overwrite=overwrite)
            return
        self.single_file = single_file
        head, _, tail = path.rpartition("/")
        has_star = "*" in tail and not single_file
        folder, self.pattern = (
            (head if head or not path.startswith("/") else "/", tail) if single_file or has_star else (path, "")
        )
        self.suffix, self.ending, self.name_function = suffix, ending, name_function
        suffixes = (suffix, "") if has_star else tuple(suffix + one for one in ("", *ENDINGS.values()))
        self.old: list[str] = []
        if single_file:
            self.staging = prepare_folder(folder or ".", **where)
            self._follow_links(where)
            self._require_single(exclusive)
        else:
            pattern = _escaped(self.pattern) if has_star else None
            instead = "single_file=True for one file" if suffix == ".csv" else ""
            self.staging, self.old = prepare(
                folder or ".", suffixes, **where, may_exist=overwrite, pattern=pattern, instead=instead
            )
            self._require_none_hidden()

    def _take_list(
        self, listed: tuple[str, ...], suffix: str, ending: str, where: dict[str, Any], *, overwrite: bool
    ) -> None:
        """Write the files of a list, whose names are relative to the folder that all are in."""
        self.single_file, self.pattern, self.name_function = False, "", None
        self.suffix, self.ending = suffix, ending
        folders = [path.rpartition("/")[0] or ("/" if path.startswith("/") else ".") for path in listed]
        folder = _common_folder(folders)
        self.staging = prepare_folder(folder, **where)
        start = "" if folder == "." else folder.rstrip("/") + "/"
        self.listed = tuple(path.removeprefix(start).removeprefix("./") for path in listed)
        there = self.staging.filesystem.get_file_info([f"{self.staging.folder}/{name}" for name in self.listed])
        self.old = [name for name, info in zip(self.listed, there, strict=True) if info.is_file]
        if self.old and not overwrite:
            raise FileExistsError(
                f"{len(self.old)} of the files that are listed exist already, such as {self.old[0]!r}; give overwrite=True to replace them"
            )

    def names(self, count: int) -> list[str]:
        """Return the names of the partitions' files."""
        if self.listed:
            return list(self.listed)
        if "*" not in self.pattern or self.single_file:
            return numbered(count, self.name_function, self.suffix, ending=self.ending)
        digits = len(str(count - 1))
        name = self.name_function or (lambda number: f"{number:0{digits}}")
        names = [self.pattern.replace("*", text) for text in names_by(name, range(count))]
        self._require_own(names)
        return names

    def paths(self, names: Sequence[str]) -> list[str]:
        """Return the paths of the partitions' files, by their names, as they can be read: URLs where the place was one."""
        protocol, is_url, _ = self.path.partition("://")
        start = f"{protocol}://" if is_url and self.staging.files != LOCAL else ""
        return [f"{start}{self.staging.folder}/{name}" for name in ([self.pattern] if self.single_file else names)]

    def _follow_links(self, where: dict[str, Any]) -> None:
        """Write the file that links lead to, in the folder where that is."""
        if self.staging.files == LOCAL and self.pattern:
            folder, self.pattern = os.path.split(followed(f"{self.staging.folder}/{self.pattern}"))
            if folder != self.staging.folder:
                self.staging = prepare_folder(folder, **where)

    def _require_single(self, exclusive: bool) -> None:
        info = self.staging.filesystem.get_file_info(f"{self.staging.folder}/{self.pattern}")
        if info.type == pa_fs.FileType.Directory:
            raise IsADirectoryError(f"{info.path!r} is a folder; single_file=True needs the name of a file")
        if info.type == pa_fs.FileType.Unknown:
            raise OSError(f"{info.path!r} is a pipe or a device, which can't be replaced; give the name of a file")
        if info.is_file and exclusive:
            raise FileExistsError(f"file {info.path!r} exists already; mode='w' replaces it")

    def _require_none_hidden(self) -> None:
        """Check that no file fits the name with a star that isn't one of a frame's: it would be deleted, or be read among those."""
        hidden = [name for name in self.old if is_hidden(name)] if not is_hidden(self.pattern) else []
        if hidden:
            raise FileExistsError(
                f"{hidden[0]!r} in folder {self.staging.folder!r} fits {self.pattern!r}, but isn't one of a frame's files, whose names "
                "don't begin with '_': give another name, such as 'part-*.csv', or move that file away"
            )

    def _require_own(self, names: Sequence[str]) -> None:
        """Check that files which fit a hidden name with a star have a number for it, or a name that is written: others would be deleted."""
        if not is_hidden(self.pattern):
            return
        start, end = self.pattern.split("*")[0], self.pattern.rsplit("*")[-1]
        others = [name for name in self.old if name not in names and not name[len(start) : -len(end) or None].isdigit()]
        if others:
            raise FileExistsError(
                f"{others[0]!r} in folder {self.staging.folder!r} fits {self.pattern!r}, but has no number for the star, and hidden files "
                "may be another's: give another name, or move that file away"
            )


def _common_folder(folders: Sequence[str]) -> str:
    """Return the innermost folder that all are in: of paths, or of URLs.

    >>> _common_folder(["memory://a/b", "memory://a/c/d"]), _common_folder(["a", "b"]), _common_folder(["/a", "/b"])
    ('memory://a', '.', '/')
    """
    common = []
    for parts in zip(*(folder.split("/") for folder in folders), strict=False):
        if len(set(parts)) > 1:
            break
        common.append(parts[0])
    return "/".join(common) or ("/" if common else ".")


def _escaped(pattern: str) -> str:
    """Return a pattern in which only stars stand for something."""
    return pattern.replace("[", "[[]").replace("?", "[?]")
