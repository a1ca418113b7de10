"""Values of options from YAML files and environment variables. Knows where they are, and the line of each."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from glassloom.config.options import OPTIONS, PREFIX, Option, canonical
from glassloom.errors import ConfigError

PLACE_VARIABLE = "GLASSLOOM_CONFIG"
"""Names the file or folder that is read in place of the user's."""


@dataclass(frozen=True, eq=False)
class Entry:
    """A value as it was written, as the code uses it, and where it was written."""

    written: Any
    value: Any
    source: str


def read_all() -> dict[str, Entry]:
    """Return the value of every option: its default, or what files and the environment say."""
    found = {option.name: entry_of(option, option.default, "default") for option in OPTIONS.values()}
    for path in _files():
        found.update(_read_file(path))
    found.update(_read_environment(os.environ))
    return found


def entry_of(option: Option, value: Any, source: str) -> Entry:
    """Return a value checked; raise ConfigError if the option can't have it."""
    return Entry(value, option.parsed(value, source), source)


def _read_environment(environment: Mapping[str, str]) -> Iterator[tuple[str, Entry]]:
    """Yield what environment variables set: those of our prefix with two underscores somewhere."""
    squeezed = {option.variable.replace("__", "_"): option.variable for option in OPTIONS.values()}
    for variable, text in environment.items():
        if not variable.startswith(PREFIX):
            continue
        if "__" in variable:
            option = OPTIONS[canonical(variable.removeprefix(PREFIX), f"environment variable {variable}")]
            yield option.name, entry_of(option, text, f"environment variable {variable}")
        elif variable in squeezed:
            raise ConfigError(f"environment variable {variable}: write {squeezed[variable]}, with two underscores")


# Files


def _files() -> list[Path]:
    """Return the files to read, those that win last."""
    folders = [Path("/etc/glassloom"), Path(sys.prefix, "etc", "glassloom")]
    place = os.environ.get(PLACE_VARIABLE)
    if place is None:
        home = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
        folders.append(Path(home, "glassloom"))
    elif place:
        path = Path(place).expanduser()
        if not path.exists():
            raise ConfigError(f"{PLACE_VARIABLE}={place!r}: no such file or folder")
        folders.append(path)
    return [file for folder in dict.fromkeys(folders) for file in _files_at(folder)]


def _files_at(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    try:
        return sorted(file for file in path.iterdir() if file.suffix in (".yaml", ".yml") and file.is_file())
    except OSError:  # there is none, or it isn't ours to look into: the usual case
        return []


def _read_file(path: Path) -> dict[str, Entry]:
    import yaml  # only if there is a file

    try:
        loader = yaml.SafeLoader(path.read_bytes())
        node = loader.get_single_node()
        return {} if node is None else dict(_options_in(node, "", path, loader))
    except OSError as error:
        raise ConfigError(f"{path} can't be read: {error.strerror}") from error
    except yaml.MarkedYAMLError as error:
        raise ConfigError(f"{path}{_line(error.problem_mark)}: not YAML: {_problem(error)}") from error
    except (yaml.YAMLError, RecursionError) as error:
        raise ConfigError(f"{path}: not YAML: {error}") from error


def _options_in(node: Any, section: str, path: Path, loader: Any) -> Iterator[tuple[str, Entry]]:
    """Yield the options in a mapping of YAML, with `section` before their names; knows the line of each."""
    if node.id != "mapping":
        raise ConfigError(
            f"{_at(path, node)}: expected options by name, such as 'array:' and below it '  chunk-size: 64 MiB'"
        )
    for key, value in node.value:
        name = f"{section}{loader.construct_object(key, deep=True)}"
        if value.id == "mapping":
            yield from _options_in(value, f"{name}.", path, loader)
        elif value.id == "scalar" and value.tag == "tag:yaml.org,2002:null" and _is_section(name):
            continue  # a section whose options are all commented out
        else:
            option = OPTIONS[canonical(name, _at(path, key))]
            yield option.name, entry_of(option, loader.construct_object(value, deep=True), _at(path, value))


def _is_section(name: str) -> bool:
    return any(option.startswith(f"{name}.") for option in OPTIONS)


def _at(path: Path, node: Any) -> str:
    return f"{path}, line {node.start_mark.line + 1}"


def _problem(error: Any) -> str:
    """Return what a YAML error says, and in which construct."""
    if not error.context:
        return str(error.problem)
    return f"{error.context}{_line(error.context_mark)}: {error.problem}"


def _line(mark: Any) -> str:
    return "" if mark is None else f", line {mark.line + 1}"
