"""Files of code that users send to the workers: made importable there, in place of what they are a newer version of."""

from __future__ import annotations

import importlib
import shutil
import sys
import uuid
import zipfile
from pathlib import Path

from glassloom.errors import OptionError

SUFFIXES = (".py", ".zip", ".egg")
_entries: dict[str, str] = {}
"""What `sys.path` has for each uploaded file, by its name."""


def checked(path: str | Path) -> Path:
    """Return the path of a file of code; raise OptionError if it is none."""
    source = Path(path)
    if source.suffix not in SUFFIXES:
        raise OptionError(f"filename={str(path)!r} should be a .py, .zip or .egg file")
    if not source.is_file():
        raise OptionError(f"filename={str(path)!r}: there is no such file")
    return source


def store(path: str | Path, directory: str) -> Path:
    """Copy a file into a folder of its own below the cluster's directory; return where it lies.

    Raises
    ------
    OptionError
        If it is no file of code.
    """
    source = checked(path)
    folder = Path(directory, "uploads", uuid.uuid4().hex)
    folder.mkdir(parents=True)
    return Path(shutil.copy(source, folder / source.name))


def install(path: str) -> list[str]:
    """Make an uploaded file importable in this process; return the names of its modules, imported anew."""
    entry = path if zipfile.is_zipfile(path) else str(Path(path).parent)
    name = Path(path).name
    if name in _entries and _entries[name] in sys.path:
        sys.path.remove(_entries[name])
    _entries[name] = entry
    sys.path.insert(0, entry)
    importlib.invalidate_caches()
    modules = module_names(path)
    for loaded in [loaded for loaded in sys.modules if loaded.partition(".")[0] in modules]:
        del sys.modules[loaded]
    for module in modules:
        importlib.import_module(module)
    return modules


def module_names(path: str) -> list[str]:
    """Return the names of the modules and packages that a file of code has at its top."""
    if not zipfile.is_zipfile(path):
        return [Path(path).stem]
    with zipfile.ZipFile(path) as archive:
        files = [Path(name) for name in archive.namelist() if name.endswith(".py")]
    modules = [file.stem for file in files if len(file.parts) == 1]
    packages = [file.parts[0] for file in files if len(file.parts) == 2 and file.name == "__init__.py"]
    return sorted({*modules, *packages} - {"__main__", "setup"})
