"""A preload of dask.distributed's workers: as if Glassloom weren't installed there. What is sent in an archive is found."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from importlib.metadata import Distribution, PackageNotFoundError
from types import ModuleType

HIDDEN = ("glassloom", "glassloom_metrics")


class OnlyInArchives:
    """Finds our packages in archives alone."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name not in HIDDEN:
            return None
        found = PathFinder.find_spec(name, [entry for entry in sys.path if entry.endswith(".zip")])
        if found is None:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return found


for module in [name for name in sys.modules if name.partition(".")[0] in HIDDEN]:
    del sys.modules[module]


def _without_metadata(find: Callable[[str], Distribution]) -> Callable[[str], Distribution]:
    """Return what finds the metadata of other packages: code that was sent has none."""

    def found(name: str) -> Distribution:
        if name in HIDDEN:
            raise PackageNotFoundError(name)
        return find(name)

    return found


Distribution.from_name = _without_metadata(Distribution.from_name)  # type: ignore[method-assign,assignment]
sys.meta_path.insert(0, OnlyInArchives())  # type: ignore[arg-type]
