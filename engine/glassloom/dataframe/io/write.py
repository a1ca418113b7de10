"""Writing frames: one file a partition, under a temporary name until it is complete."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

from glassloom.dataframe.call import Block, BlockCall
from glassloom.dataframe.io.paths import PathLike
from glassloom.dataframe.nodes import FrameBlockwise, FrameExpr
from glassloom.dataframe.reduce import Operation, tree
from glassloom.dataframe.wrap import wrap


class Write(FrameBlockwise):
    """Each partition written to a file; a block is the number of its rows."""

    parameters = ("frame", "write", "names", "options")

    frame: FrameExpr
    write: Callable[..., Any]
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
        return BlockCall(self.write, (Block(0), Block(1), self.options), label=self.label)

    def literals(self, index: tuple[int, ...]) -> tuple[Any, ...]:
        return (self.names[index[0]],)


def to_parquet(frame: Any, path: PathLike, *, overwrite: bool = False, **options: Any) -> None:
    """Write a frame into a folder, one Parquet file a partition, and wait for it.

    Parameters
    ----------
    frame
        A lazy frame.
    path
        The folder; it is made if it doesn't exist.
    overwrite
        Whether to replace the Parquet files that are there.
    options
        Further options of `pandas.DataFrame.to_parquet`: ``compression``, ``index``, ``row_group_size``...

    Raises
    ------
    FileExistsError
        If there are Parquet files already and `overwrite` is False.

    Examples
    --------
    >>> import tempfile
    >>> import glassloom.dataframe as gd
    >>> folder = tempfile.mkdtemp()
    >>> gd.to_parquet(gd.datasets.timeseries(end="2000-01-03", freq="1h"), folder)
    >>> len(gd.read_parquet(folder))
    48
    """
    _write(frame, path, "parquet", _write_parquet, overwrite, options)


def to_csv(frame: Any, path: PathLike, *, overwrite: bool = False, **options: Any) -> None:
    """Write a frame into a folder, one CSV file a partition, and wait for it.

    Parameters
    ----------
    frame
        A lazy frame or series.
    path
        The folder; it is made if it doesn't exist.
    overwrite
        Whether to replace the CSV files that are there.
    options
        Further options of `pandas.DataFrame.to_csv`: ``index``, ``sep``...

    Raises
    ------
    FileExistsError
        If there are CSV files already and `overwrite` is False.
    """
    _write(frame, path, "csv", _write_csv, overwrite, options)


def _write(
    frame: Any, path: PathLike, suffix: str, write: Callable[..., Any], overwrite: bool, options: dict[str, Any]
) -> None:
    folder = Path(os.path.abspath(os.path.expanduser(os.fspath(path))))
    old = sorted(folder.glob(f"*.{suffix}")) if folder.is_dir() else []
    if old and not overwrite:
        raise FileExistsError(
            f"folder {str(folder)!r} holds {len(old)} {suffix} files already; give overwrite=True to replace them"
        )
    folder.mkdir(parents=True, exist_ok=True)
    digits = max(4, len(str(frame.npartitions - 1)))
    names = tuple(str(folder / f"part-{number:0{digits}}.{suffix}") for number in range(frame.npartitions))
    written = Write(frame.expr, write, tuple(name + ".part" for name in names), options)
    wrap(tree(written, Operation(_same, sum, sum), 0, "written")).compute()
    for name in names:
        os.replace(name + ".part", name)
    for leftover in old:
        if str(leftover) not in names:
            leftover.unlink()


def _write_parquet(block: Any, name: str, options: dict[str, Any]) -> int:
    block.to_parquet(name, **options)
    return len(block)


def _write_csv(block: Any, name: str, options: dict[str, Any]) -> int:
    block.to_csv(name, **options)
    return len(block)


def _same(value: Any) -> Any:
    return value
