"""Files that are written beside their place and moved there when all are complete: a write that fails changes nothing."""

from __future__ import annotations

import errno
import fnmatch
import os
import shutil
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import Any, NamedTuple

import pyarrow.fs as pa_fs

from glassloom.dataframe.call import Block, BlockCall
from glassloom.dataframe.io.compression import compressing
from glassloom.dataframe.io.filesystems import Files
from glassloom.dataframe.io.paths import followed, is_data_file, is_hidden, names_below
from glassloom.dataframe.nodes import FrameBlockwise, FrameExpr
from glassloom.dataframe.reduce import Operation, tree
from glassloom.dataframe.wrap import wrap


class Written(NamedTuple):
    """What a task has written: a number of rows, into files with these names below the folder; the forms of columns that may differ."""

    n_rows: int
    names: tuple[str, ...]
    forms: tuple[Any, ...] = ()


class Staging(NamedTuple):
    """A folder, and the one inside where files are written first.

    If the inner one is made before any task writes (`is_made`), a task that still runs when the write has failed finds it
    gone, and leaves nothing behind. `new` are folders above that weren't there before.
    """

    files: Files
    folder: str
    inside: str
    is_made: bool = False
    new: tuple[str, ...] = ()

    @property
    def filesystem(self) -> Any:
        """The file system as PyArrow has it."""
        return self.files.arrow or pa_fs.LocalFileSystem()

    @contextmanager
    def open(self, name: str) -> Iterator[Any]:
        """Open a new file of the inner folder, to write to. It gets its name when all is written.

        A task may run twice, on a worker that was taken for lost and goes on, too: neither writes into the other's file.
        """
        path = f"{self.inside}/{name}"
        if self.is_made:
            for place in range(len(self.inside) + 1, len(path)):
                if path[place] == "/":
                    self.filesystem.create_dir(path[:place], recursive=False)
        else:
            self.filesystem.create_dir(path.rpartition("/")[0], recursive=True)
        is_local = self.files.arrow is None
        own = f"{path}.{uuid.uuid4().hex[:12]}" if is_local else path  # an object elsewhere is there when it is closed
        with self.filesystem.open_output_stream(own, compression=None) as sink:
            yield sink
        if is_local:
            self.filesystem.move(own, path)

    def made(self) -> Staging:
        """Return this staging with its inner folder made; behind other file systems tasks make it, as folders aren't real."""
        if self.files.arrow is not None:
            return self
        new = tuple(path for path in (*self.folders_above(), self.folder) if not os.path.exists(path))
        self.filesystem.create_dir(self.inside, recursive=True)
        return self._replace(is_made=True, new=new)

    def folders_above(self) -> list[str]:
        """Return the folders above the outer one, from the root."""
        return [self.folder[:place] for place, sign in enumerate(self.folder) if sign == "/" and place > 0]

    def publish(self, names: Sequence[str]) -> None:
        """Move files from the inner folder to the outer one. What a lost worker has moved already stays.

        A link in the outer folder stays, too: the file that it leads to is replaced.
        """
        for name in names:
            target = f"{self.folder}/{name}"
            if self.files.arrow is None:
                target = followed(target)
            self.filesystem.create_dir(target.rpartition("/")[0], recursive=True)
            try:
                self._move(f"{self.inside}/{name}", target)
            except FileNotFoundError:
                if not self.filesystem.get_file_info(target).is_file:
                    raise

    def _move(self, source: str, target: str) -> None:
        if self.files.arrow is None:
            replace_file(source, target)
        else:
            self.filesystem.move(source, target)

    def remove(self) -> None:
        """Remove the inner folder with all that is in it, at once: nothing can be added while it is emptied."""
        if self.filesystem.get_file_info(self.inside).type != pa_fs.FileType.Directory:
            return
        removed = self.inside
        if self.files.arrow is None:
            removed = f"{self.inside}-removed"
            self.filesystem.move(self.inside, removed)
        self.filesystem.delete_dir(removed)

    def discard(self) -> None:
        """Remove the inner folder, and those above that were made for it and have nothing else in them."""
        self.remove()
        for path in reversed(self.new):
            with suppress(OSError):  # something is in it
                os.rmdir(path)

    def found(self, suffix: str | tuple[str, ...], pattern: str | None = None) -> list[str]:
        """Return the names of the files with a suffix in the folder and those in it, without those that readers of it leave out.

        Parameters
        ----------
        pattern
            Only files of the folder itself that it fits are returned, and no other folder is looked into.
        """
        suffixes = (suffix,) if isinstance(suffix, str) else suffix
        if pattern is None:  # what readers of the folder leave out isn't this frame's either
            return sorted(name for name in self._names_here(recursive=True) if is_data_file(name, suffixes))
        found = (name for name in self._names_here(recursive=False) if name.endswith(suffixes))
        fitting = (name for name in found if fnmatch.fnmatchcase(name, pattern))
        return sorted(name for name in fitting if name.startswith(".") == pattern.startswith("."))

    def _names_here(self, *, recursive: bool) -> Iterator[str]:
        """Yield the names of all files, relative to the folder."""
        if self.files.arrow is None:  # PyArrow can't list names that aren't UTF-8
            below = names_below(self.folder, recursive=recursive)
            yield from (name for name in below if os.path.isfile(f"{self.folder}/{name}"))
            return
        selector = pa_fs.FileSelector(self.folder, recursive=recursive, allow_not_found=True)
        start = len(self.folder) + 1
        yield from (info.path[start:] for info in self.filesystem.get_file_info(selector) if info.is_file)

    def delete(self, name: str) -> None:
        """Delete a file of the outer folder; of a folder that a link leads to, which may be another's, the link."""
        if self.files.arrow is not None:
            self.filesystem.delete_file(f"{self.folder}/{name}")
            return
        path = self.folder
        for part in name.split("/"):
            path = f"{path}/{part}"
            if os.path.islink(path):
                break
        with suppress(FileNotFoundError):  # the link has gone with another file
            os.remove(path)


def replace_file(source: str, target: str) -> None:
    """Move a file of this machine to its place at once. One that is there is replaced; who may read and write it stays."""
    if os.path.exists(target):
        shutil.copymode(target, source)
    try:
        os.replace(source, target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        beside = f"{target}.{uuid.uuid4().hex[:12]}"  # on the disk of the target, to which a link led
        try:
            shutil.copy2(source, beside)
            os.replace(beside, target)
        except BaseException:
            with suppress(FileNotFoundError):
                os.remove(beside)
            raise
        os.remove(source)


def staging_in(files: Files, folder: str) -> Staging:
    """Return a new inner folder's names. Its name is hidden, so that readers of the folder don't see it.

    Raises
    ------
    FileNotFoundError
        If it is in a bucket that doesn't exist: writing makes folders, but no buckets.
    """
    plain = folder.rstrip("/")
    _require_bucket(files, plain)
    return Staging(files, plain, f"{plain}/.writing-{uuid.uuid4().hex[:12]}")


_WITH_BUCKETS = frozenset(["s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "adl", "oss", "obs", "cos", "r2"])
"""Kinds of file systems whose first folder is a bucket, or container: it has an owner, a region and a price."""


def _require_bucket(files: Files, folder: str) -> None:
    kind = files.name.partition(" ")[0]
    if files.arrow is None or kind not in _WITH_BUCKETS:
        return
    bucket = folder.lstrip("/").partition("/")[0]
    try:
        is_there = files.arrow.get_file_info(bucket).type != pa_fs.FileType.NotFound
    except OSError:  # who may write need not be allowed to look: writing says what is wrong
        return
    if not is_there:
        raise FileNotFoundError(f"{folder!r} can't be written: there is no bucket {bucket!r} of {kind}; make it before")


class Write(FrameBlockwise):
    """Each partition written to files; a block is a list of one `Written`."""

    parameters = ("frame", "write", "names", "options")

    frame: FrameExpr
    write: Callable[..., Written]
    names: tuple[str, ...]
    options: dict[str, Any]

    @property
    def label(self) -> str:
        return self.write.__name__.strip("_").replace("_", "-")

    @cached_property
    def meta(self) -> Any:
        return 0

    @cached_property
    def divisions(self) -> tuple[Any, ...]:
        return (None,) * (self.frame.npartitions + 1)

    @property
    def function(self) -> Callable[..., Any]:
        return BlockCall(_write_block, (Block(0), Block(1), self.write, self.options), label=self.label)

    def literals(self, index: tuple[int, ...]) -> tuple[Any, ...]:
        return (self.names[index[0]],)


class Publish:
    """Moves what was written to its place, when all of it is there. Returns the number of rows.

    Parameters
    ----------
    leftovers
        The names of files that are removed.
    """

    into_one: str | None = None
    """The name of the single file into which those of the partitions are joined."""
    compression: Any = None
    """How the single file is compressed, as pandas takes it; None: the files are joined as they are."""
    keeps_old: bool = False
    """Whether what the single file has already comes first."""
    mark: bytes = b""
    """What a file of the text's encoding begins with, written if the single file keeps nothing that it has."""
    require_like: Callable[[Sequence[str], Sequence[Any]], None] | None = None
    """Checks, by the names of files and the forms of their columns, that they can be read together."""
    summary: Callable[[Staging, Sequence[str]], list[str]] | None = None
    """Writes files about those with some names into the inner folder, and returns their names."""

    def __init__(self, staging: Staging, leftovers: Sequence[str]) -> None:
        self.staging = staging
        self.leftovers = tuple(leftovers)

    def __call__(self, partials: list[list[Written]]) -> int:
        written = _joined(partials)
        names = [name for one in written for name in one.names]
        if self.require_like is not None:
            forms = [(one.names[0], form) for one in written for form in one.forms]
            self.require_like([name for name, _ in forms], [form for _, form in forms])
        if self.summary is not None:
            names += self.summary(self.staging, names)
        if self.into_one is not None:
            self._concatenate(names, self.into_one)
            names = [self.into_one]
        self.staging.publish(names)
        for name in set(self.leftovers) - set(names):
            self.staging.delete(name)
        self.staging.remove()
        return sum(one.n_rows for one in written)

    def _concatenate(self, names: Sequence[str], into: str) -> None:
        staging = self.staging
        length = self._length_of_old(into) if self.keeps_old else 0
        with staging.open(into) as sink, compressing(sink, self.compression, into) as target:
            if length:
                _copy(staging.filesystem, f"{staging.folder}/{into}", target, length)
            else:
                target.write(self.mark)
            for name in names:
                _copy(staging.filesystem, f"{staging.inside}/{name}", target, None)

    def _length_of_old(self, name: str) -> int:
        """Return how many bytes the single file has. They are noted: on a worker in place of a lost one it may be in place already."""
        noted = f"{name}.length"
        system = self.staging.filesystem
        if system.get_file_info(f"{self.staging.inside}/{noted}").is_file:
            with system.open_input_stream(f"{self.staging.inside}/{noted}") as file:
                return int(file.read())
        found = system.get_file_info(f"{self.staging.folder}/{name}")
        length = found.size if found.is_file else 0
        with self.staging.open(noted) as sink:
            sink.write(str(length).encode())
        return length


def _copy(system: Any, path: str, target: Any, length: int | None) -> None:
    """Write the bytes of a file, or the first of them, to an open one."""
    with system.open_input_stream(path, compression=None) as file:
        while chunk := file.read(1 << 22 if length is None else min(1 << 22, length)):
            target.write(chunk)
            length = None if length is None else length - len(chunk)


def write_partitions(
    frame: Any,
    write: Callable[..., Written],
    names: Sequence[str],
    options: dict[str, Any],
    publish: Publish,
    *,
    compute: bool,
    compute_kwargs: dict[str, Any],
    again: Callable[[Write, Staging], FrameExpr] | None = None,
) -> Any:
    """Write each partition with ``write(block, name, staging=..., **options)``, then publish the files.

    Parameters
    ----------
    compute_kwargs
        Arguments of `compute`.
    again
        Returns the node of a second step, of the one that writes.

    Returns
    -------
    Scalar or None
        The number of rows, lazily, if `compute` is False; otherwise this waits until all is written.
    """
    staging = publish.staging
    if compute:
        staging = staging.made()
    try:
        node = Write(frame.expr, write, tuple(names), {**options, "staging": staging})
        last = node if again is None else again(node, staging)
        made = wrap(tree(last, Operation(_same, _joined, publish), 0, "written"))
        if not compute:
            return made
        made.compute(**compute_kwargs)
    except BaseException:
        staging.discard()
        raise
    return None


def numbered(
    count: int, name_function: Callable[[int], str] | None, suffix: str, *, first: int = 0, ending: str = ""
) -> list[str]:
    """Return the names of the files of partitions: with a suffix, and behind that the end of a compression.

    Raises
    ------
    ValueError
        If `name_function` returns names that readers of the folder don't see. And as `names_by`.
    """
    digits = max(4, len(str(first + count - 1)))
    if name_function is None:
        return [f"part-{number:0{digits}}{suffix}{ending}" for number in range(first, first + count)]
    names = names_by(name_function, range(first, first + count))
    if hidden := [name for name in names if is_hidden(name)]:
        raise ValueError(
            f"name_function returned {hidden[0]!r}: readers of a folder leave out names that begin with '.' or '_'"
        )
    if ending:
        names = [name.removesuffix(ending) for name in names]
    return [(name if name.endswith(suffix) else name + suffix) + ending for name in names]


def names_by(name_function: Callable[[int], str], numbers: Sequence[int]) -> list[str]:
    """Return the names of files, or what stands for a star in them, that a caller's function makes of numbers.

    Raises
    ------
    ValueError
        If it returns a name twice, or one out of order, or one of a file in another folder.
    TypeError
        If it isn't a function that returns text.
    """
    if not callable(name_function):
        raise TypeError(f"name_function={name_function!r} should be a function of a partition's number")
    names = [name_function(number) for number in numbers]
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"name_function should return text, got {name!r}")
        if not name or "/" in name or os.sep in name:
            raise ValueError(f"name_function returned {name!r}, which should be the name of a file, without a slash")
    if len(set(names)) < len(names) or names != sorted(names):
        raise ValueError(f"name_function should return names in ascending order, each once; got {names[:5]}")
    return names


def _write_block(block: Any, name: str, write: Callable[..., Written], options: dict[str, Any]) -> list[Written]:
    return [write(block, name, **options)]


def _joined(partials: list[list[Written]]) -> list[Written]:
    return [one for partial in partials for one in partial]


def _same(value: Any) -> Any:
    return value
