"""`Replacement`: a folder that is written beside its place. It takes the place of what is there when it is complete."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from glassloom.array.sources.zarr_store import is_node
from glassloom.graph import random_token


class Replacement:
    """A folder beside its place: what is in the place stays until `finish`, also if that fails.

    Parameters
    ----------
    place
        An absolute path without symbolic links.
    """

    def __init__(self, place: Path) -> None:
        self.place = place
        self.token = random_token()
        self.folder = place.parent / f".{place.name}-{self.token}.partial"

    def finish(self) -> None:
        """Put the folder into its place, and remove what was there.

        If the process ends in between, one of both is in the place, or the old one is beside it, its name ending in
        ``.replaced``.
        """
        if not self.place.exists():
            self.folder.rename(self.place)
            return
        old = self.folder.with_suffix(".replaced")
        self.place.rename(old)
        try:
            self.folder.rename(self.place)
        except OSError:
            old.rename(self.place)
            raise
        shutil.rmtree(old)

    def discard(self) -> None:
        """Remove what was written, unless it is in its place: renamed first, so that late tasks find no folder."""
        if self.folder.exists():
            removed = self.folder.with_suffix(".discarded")
            self.folder.rename(removed)
            shutil.rmtree(removed, ignore_errors=True)


class ZarrReplacement:
    """A Zarr array in the folder of a `Replacement`, as a target of `store`.

    Zarr makes folders that aren't there. What a task writes after the replacement was discarded is removed again.
    """

    is_everywhere = True

    def __init__(self, array: Any, folder: Path) -> None:
        self.array, self.folder = array, folder
        self.shape, self.chunks, self.shards = array.shape, array.chunks, array.shards

    def __setitem__(self, place: Any, block: Any) -> None:
        self.array[place] = block
        if not is_node(self.folder):
            shutil.rmtree(self.folder, ignore_errors=True)
