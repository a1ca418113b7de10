"""Where files are: on this machine, or behind a PyArrow or fsspec file system. It finds and opens files, and reads none."""

from __future__ import annotations

import fnmatch
import glob
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pyarrow.fs as pa_fs

from glassloom.dataframe.io.paths import PathLike, file_state, find_files, is_data_file, kinds_of, natural_key
from glassloom.errors import OptionError, ReadError
from glassloom.graph import tokenize

State = tuple[str, int, int]
"""A version of a file: its path, size in bytes and time of change in ns."""

_VERSION_KEYS = (
    "ETag",
    "etag",
    "md5Hash",
    "md5",
    "mtime",
    "LastModified",
    "last_modified",
    "modified",
    "updated",
    "created",
)
"""What fsspec's file systems call that which tells a version of a file; not all that they say of it is the same each time."""


@dataclass(frozen=True)
class Files:
    """A file system. `arrow` is None on this machine; `identity` tells apart those of one kind: other servers, folders..."""

    name: str = "local"
    arrow: Any = field(default=None, compare=False)
    identity: str = ""

    def __glassloom_tokenize__(self) -> tuple[str, str]:
        return (self.name, self.identity)

    def find(self, paths: Sequence[str], suffixes: tuple[str, ...]) -> list[State]:
        """Return the files that paths, globs and folders stand for, in natural order within each.

        Raises
        ------
        FileNotFoundError
            If a path doesn't exist, or a glob or folder yields no file.
        """
        if self.arrow is None:
            return [file_state(path) for path in find_files(list(paths), suffixes)]
        self._forget_listings()
        return [state for path in paths for state in self._find_remote(path, suffixes)]

    def _find_remote(self, path: str, suffixes: tuple[str, ...]) -> list[State]:
        info = self.arrow.get_file_info(path)
        if info.type == pa_fs.FileType.File:
            return [self._state(info)]
        if info.type == pa_fs.FileType.Directory:
            found = self._inside(path, suffixes)
        elif glob.has_magic(path):
            fitting = self._matching(path)
            found = [one for one in fitting if one.is_file and not path.endswith("/")]
            if not found:
                inside = (self._inside(folder.path, suffixes) for folder in fitting if not folder.is_file)
                found = list({one.path: one for many in inside for one in many}.values())
            if not found:
                raise FileNotFoundError(f"no file of {self.name} matches {path!r}")
        else:
            raise FileNotFoundError(f"file {path!r} doesn't exist in {self.name}")
        if not found:
            raise FileNotFoundError(f"no {kinds_of(suffixes)} file in {path!r} of {self.name}")
        return sorted(map(self._state, found), key=lambda state: natural_key(state[0]))

    def _inside(self, folder: str, suffixes: tuple[str, ...]) -> list[Any]:
        """Return what PyArrow tells of the files of a folder, and of those in it, that count."""
        start = len(folder.rstrip("/")) + 1 if folder else 0
        inside = self._listed(folder, recursive=True)
        return [one for one in inside if one.is_file and is_data_file(one.path[start:], suffixes)]

    def _matching(self, path: str) -> list[Any]:
        """Return what PyArrow tells of the files and folders that a glob fits."""
        start = path[: _first_magic(path)].rpartition("/")[0]
        parts = path[len(start) :].strip("/").split("/")
        folders = [start]
        for part in parts[:-1]:
            if part == "**":
                break
            inside = [one for folder in folders for one in self._listed(folder, recursive=False)]
            folders = [one.path for one in inside if not one.is_file and _fits_name(one.base_name, part)]
        inside = [one for folder in folders for one in self._listed(folder, recursive="**" in parts)]
        if path.endswith("**/"):  # which are the folders themselves, too
            inside += [self.arrow.get_file_info(folder) for folder in folders]
        length = len(start) + 1 if start else 0
        return [one for one in inside if _fits(one.path[length:].split("/"), parts)]

    def _listed(self, folder: str, *, recursive: bool) -> Any:
        return self.arrow.get_file_info(pa_fs.FileSelector(folder, recursive=recursive, allow_not_found=True))

    def state(self, path: str) -> State:
        """Return the version of a file that is there now.

        Raises
        ------
        OSError
            If it can't be found out.
        """
        if self.arrow is None:
            return file_state(path)
        self._forget_listings()
        info = self.arrow.get_file_info(path)
        if not info.is_file:
            raise FileNotFoundError(f"file {path!r} doesn't exist in {self.name}")
        return self._state(info)

    def require_unchanged(self, state: State, looked: str) -> None:
        """Check that a file is the version that a function, called `looked`, has looked at.

        Raises
        ------
        ReadError
            If it is another one.
        FileNotFoundError
            If it is gone.
        """
        try:
            found = self.state(state[0])
        except FileNotFoundError as error:
            raise FileNotFoundError(f"{state[0]!r} is gone since {looked}() looked at it") from error
        if found != state:
            raise ReadError(f"{state[0]!r} has changed since {looked}() looked at it: call {looked}() again")

    @contextmanager
    def unchanged(self, state: State | None, looked: str) -> Iterator[None]:
        """Check that what is read meanwhile is the version of a file that a function, called `looked`, has looked at.

        An error of the reader is one of a file that has changed, if it has. Raises as `require_unchanged`.
        """
        if state is None:
            yield
            return
        if self.arrow is None:  # elsewhere it takes a request
            self.require_unchanged(state, looked)
        try:
            yield
        except Exception:  # the reader may raise anything over a file that changes while it is read
            self.require_unchanged(state, looked)
            raise
        self.require_unchanged(state, looked)

    def _state(self, info: Any) -> State:
        return (info.path, int(info.size or 0), int(info.mtime_ns or 0) or self._version(info.path))

    def _version(self, path: str) -> int:
        """Return a number for the version of a file without a time, as the ETag of an object; 0 if the file system knows none."""
        filesystem = self._fsspec
        if filesystem is None:
            return 0
        try:
            known = filesystem.info(path)
            found = next((known[key] for key in _VERSION_KEYS if known.get(key)), None)
            return int(tokenize(str(found))[:15] if found else filesystem.ukey(path)[:15], 16)
        except (AttributeError, NotImplementedError, ValueError, TypeError):
            return 0

    @property
    def _fsspec(self) -> Any:
        """The file system as fsspec has it; None if it isn't one of fsspec's."""
        return getattr(getattr(self.arrow, "handler", None), "fs", None)

    def _forget_listings(self) -> None:
        """Look at what is there now: fsspec's file systems of objects remember what they have seen."""
        if self._fsspec is not None:
            self._fsspec.invalidate_cache()

    def source(self, path: str) -> Any:
        """Return what PyArrow's readers take: the path, or an open file."""
        return path if self.arrow is None else self.arrow.open_input_file(path)

    def open(self, path: str) -> Any:
        """Return a file, open for reading bytes at any place."""
        return open(path, "rb") if self.arrow is None else self.arrow.open_input_file(path)

    def read(self, path: str, start: int = 0, end: int | None = None) -> bytes:
        """Return the bytes of a file from one place to another."""
        with self.open(path) as file:
            file.seek(start)
            return bytes(file.read() if end is None else file.read(end - start))


def _fits(names: Sequence[str], parts: Sequence[str]) -> bool:
    """Whether the parts of a glob fit those of a path: a star stands for no slash, two are any folders that aren't hidden.

    >>> _fits(["a", "b.csv"], ["a", "*.csv"]), _fits(["a", "b", "c"], ["a", "*"]), _fits(["a", "b", "c"], ["**", "c"])
    (True, False, True)
    """
    if not parts:
        return not names
    if parts[0] == "**":
        hidden = next((place for place, name in enumerate(names) if name.startswith(".")), len(names))
        return any(_fits(names[start:], parts[1:]) for start in range(hidden + 1))
    return bool(names) and _fits_name(names[0], parts[0]) and _fits(names[1:], parts[1:])


def _fits_name(name: str, pattern: str) -> bool:
    """Whether a pattern fits a name, as in a shell: a star or question mark stands for no dot at the beginning.

    >>> _fits_name("a.csv", "*.csv"), _fits_name(".a.csv", "*.csv"), _fits_name(".a.csv", ".*.csv")
    (True, False, True)
    """
    is_hidden = name.startswith(".") and not pattern.startswith(".")
    return not is_hidden and fnmatch.fnmatchcase(name, pattern)


def _first_magic(path: str) -> int:
    return min(path.index(sign) for sign in "*?[" if sign in path)


LOCAL = Files()


def locate(
    paths: PathLike | Sequence[PathLike], filesystem: Any = None, storage_options: dict[str, Any] | None = None
) -> tuple[Files, list[str]]:
    """Return the file system of paths or URLs, and the paths in it.

    Parameters
    ----------
    filesystem
        A `pyarrow.fs.FileSystem` or an fsspec one. Default: what the URLs say.
    storage_options
        Options of fsspec's file system for the URLs.

    Raises
    ------
    OptionError
        If the URLs are of several file systems, or options are given for none.
    TypeError
        If something else is given than paths.
    """
    texts = [os.path.expanduser(text) for text in _path_texts(paths)]
    if isinstance(filesystem, str) and filesystem not in _KINDS:
        raise OptionError(
            f"filesystem={filesystem!r} should be one of {', '.join(map(repr, _KINDS))}, or a file system of PyArrow or fsspec"
        )
    if filesystem is not None and not isinstance(filesystem, str):
        return _files_of(filesystem), [text.partition("://")[2] or text for text in texts]
    schemes = {text.partition("://")[0] if "://" in text else "file" for text in texts}
    if len(schemes) > 1:
        raise OptionError(f"the paths are of several file systems ({', '.join(sorted(schemes))}); read each by itself")
    if schemes <= {"file"}:
        if storage_options:
            raise OptionError(f"storage_options={storage_options!r} are for URLs such as 's3://...'; got {texts[:1]}")
        return LOCAL, [text.removeprefix("file://") for text in texts]
    (scheme,) = schemes
    return _of_url(texts, scheme, filesystem, storage_options or {})


def _path_texts(paths: Any) -> list[str]:
    many = [paths] if isinstance(paths, (str, os.PathLike)) else paths
    if isinstance(many, (bytes, dict)) or hasattr(many, "read") or not isinstance(many, Iterable):
        how = "; what is open is read by pandas, and its frame goes into from_pandas()" if hasattr(many, "read") else ""
        raise TypeError(f"{_PATHS}, got {type(paths).__name__}: {paths!r}{how}")
    texts = [os.fspath(one) if isinstance(one, (str, os.PathLike)) else one for one in many]
    for text in texts:
        if not isinstance(text, str):
            raise TypeError(f"{_PATHS}, got a list with {type(text).__name__}: {text!r}")
    return texts


_PATHS = "paths should be a path or URL as text, a glob, a folder, or a list of those"
_KINDS = ("auto", "fsspec", "arrow", "pyarrow")


def _of_url(texts: list[str], scheme: str, kind: str | None, options: dict[str, Any]) -> tuple[Files, list[str]]:
    if kind in ("arrow", "pyarrow"):
        found, _ = pa_fs.FileSystem.from_uri(texts[0])
        return _known(f"{scheme} by pyarrow", found), [text.partition("://")[2] for text in texts]
    try:
        from fsspec.core import url_to_fs  # optional: only URLs need it
    except ImportError as error:
        raise OptionError(f"{texts[0]!r} needs fsspec, which isn't installed; or give filesystem='pyarrow'") from error
    stripped = [url_to_fs(text, **options) for text in texts]
    return _files_of(stripped[0][0]), [path for _, path in stripped]


def _files_of(filesystem: Any) -> Files:
    if isinstance(filesystem, pa_fs.LocalFileSystem):
        return LOCAL
    if isinstance(filesystem, pa_fs.FileSystem):
        return _known(f"{filesystem.type_name} by pyarrow", filesystem)
    protocol = getattr(filesystem, "protocol", None)
    if protocol is None:
        raise OptionError(f"filesystem={filesystem!r} should be a file system of PyArrow or fsspec")
    name = protocol if isinstance(protocol, str) else protocol[0]
    if name == "file":
        return LOCAL
    return _known(f"{name} by fsspec", pa_fs.PyFileSystem(pa_fs.FSSpecHandler(filesystem)))


def _known(name: str, arrow: pa_fs.FileSystem) -> Files:
    return Files(name, arrow, tokenize(arrow))
