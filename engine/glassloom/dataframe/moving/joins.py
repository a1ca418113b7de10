"""Methods that join a frame with others: `merge`, `join`."""

from __future__ import annotations

from typing import Any

from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE
from glassloom.dataframe.argument_kinds import require_suffixes
from glassloom.dataframe.base import Frame
from glassloom.dataframe.moving.merge import merge


class Joins(Frame):
    """Methods of frames."""

    def merge(
        self,
        right: Any,
        how: str = "inner",
        on: Any = None,
        left_on: Any = None,
        right_on: Any = None,
        left_index: bool = False,
        right_index: bool = False,
        sort: bool = False,
        suffixes: tuple[str | None, str | None] = ("_x", "_y"),
        copy: Any = None,
        indicator: bool | str = False,
        validate: str | None = None,
        *,
        npartitions: int | None = None,
        shuffle_method: str | None = None,
        broadcast: bool | float | None = None,
    ) -> Any:
        """Join with another frame. See `glassloom.dataframe.merge`."""
        return merge(
            self, right, how, on, left_on, right_on, left_index, right_index, sort, suffixes, copy, indicator, validate,
            npartitions=npartitions, shuffle_method=shuffle_method, broadcast=broadcast,
        )  # fmt: skip

    def join(
        self,
        other: Any,
        on: Any = None,
        how: str = "left",
        lsuffix: str = "",
        rsuffix: str = "",
        sort: bool = False,
        validate: str | None = None,
        *,
        suffixes: tuple[str | None, str | None] | None = None,
        npartitions: int | None = None,
        shuffle_method: str | None = None,
    ) -> Any:
        """Join with other frames by their index, as `pandas.DataFrame.join` does. See `glassloom.dataframe.merge`.

        Rows come in pandas' order if the divisions of both frames are known, or one of them is small. Otherwise they come in that order
        within each partition, and which rows are in which partition depends on a hash of the labels: `sort=True` sorts them.

        Parameters
        ----------
        other
            A frame, a series with a name, or a list of those.
        on
            Columns of this frame to look up in the other's index. Default: this frame's index.
        how
            ``"left"``, ``"right"``, ``"inner"``, ``"outer"`` or ``"cross"``.
        lsuffix, rsuffix
            What is appended to the names of columns that both have.
        suffixes
            Both of them, as in `merge`.
        sort
            Whether to sort the result by the keys.
        validate, npartitions, shuffle_method
            As in `merge`.

        Examples
        --------
        >>> import pandas as pd
        >>> import glassloom.dataframe as gd
        >>> frame = gd.from_pandas(pd.DataFrame({"k": ["a", "b"]}), npartitions=2)
        >>> frame.join(pd.DataFrame({"x": [1, 2]}, index=["b", "a"]), on="k").x.compute().tolist()
        [2, 1]
        """
        if suffixes is not None:
            require_suffixes("join", suffixes)
            if lsuffix or rsuffix:
                raise ValueError("join: give suffixes=, or lsuffix= and rsuffix=, not both")
            lsuffix, rsuffix = (one or "" for one in suffixes)
        if isinstance(other, (list, tuple)):
            if on is not None or lsuffix or rsuffix:
                raise ValueError("join with a list of frames is by index alone, and takes no suffixes")
            found: Any = self
            for one in other:
                found = found.join(
                    one, how=how, validate=validate, npartitions=npartitions, shuffle_method=shuffle_method
                )
            is_sorted = sort and (HAS_COPY_ON_WRITE or how != "left")
            return found.sort_index() if is_sorted else found
        keys: dict[str, Any] = {"left_index": True} if on is None else {"left_on": on}
        if how == "cross":
            keys = {}
        return merge(
            self, other, how, right_index=how != "cross", sort=sort, suffixes=(lsuffix, rsuffix), validate=validate,
            npartitions=npartitions, shuffle_method=shuffle_method, **keys,
        )  # fmt: skip
