"""The column that names the file of each row."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import pandas as pd

from glassloom.errors import OptionError


class PathColumn(NamedTuple):
    """A categorical column of the files' paths, or of what a caller's function makes of them: `values`, by path."""

    name: str
    values: dict[str, Any]

    def added(self, frame: Any, path: str) -> Any:
        """Return the frame of a file, in place, with the column.

        Raises
        ------
        OptionError
            If the file has a column of this name.
        """
        if self.name in frame.columns:
            raise OptionError(
                f"include_path_column={self.name!r}: {path!r} has a column of this name; give another one, such as 'path_of_file'"
            )
        categories = [value for value in dict.fromkeys(self.values.values()) if not pd.isna(value)]
        frame[self.name] = pd.Categorical([self.values[path]] * len(frame), categories=categories)
        return frame


def path_column(wanted: bool | str, paths: Iterable[str], convert: Callable[[str], Any] | None) -> PathColumn | None:
    """Return the column of paths that a caller wants: True, or its name; None if there is none."""
    if not wanted:
        return None
    return PathColumn(
        "path" if wanted is True else wanted, {path: path if convert is None else convert(path) for path in paths}
    )
