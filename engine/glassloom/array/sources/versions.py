"""What tells the content of files from what they held before, without reading it: paths, sizes and times of change."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from glassloom.graph import random_token, tokenize

_CLOCK_TICK_NS = 20_000_000
"""A file that changed less than this before it is looked at may change again without a change of its time."""


def file_version(path: str | Path) -> str:
    """Return a token of a file's path and its last change."""
    place = os.path.realpath(path)
    return _token(place, [_stamp(place, os.stat(place))])


def folder_version(path: str | Path) -> str:
    """Return a token of a folder's path and the last change of each file in it: 1.6 s for 100,000 files."""
    place = os.path.realpath(path)
    stamps = []
    folders = [place]
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.is_dir():
                    folders.append(entry.path)
                else:
                    stamps.append(_stamp(os.path.relpath(entry.path, place), entry.stat()))
    return _token(place, sorted(stamps))


def stamp_of(path: str | Path) -> tuple[int, ...] | None:
    """Return what tells a file from what was there before; None if there is none. Numbers of inodes come again."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return (found.st_ino, found.st_size, found.st_mtime_ns)


def unknown_version() -> str:
    """Return a token that is equal to no other: for what can't say whether it has changed."""
    return random_token()


def _stamp(name: str, found: os.stat_result) -> tuple[Any, ...]:
    return (name, found.st_ino, found.st_size, found.st_mtime_ns)


def _token(place: str, stamps: list[tuple[Any, ...]]) -> str:
    newest = max((stamp[-1] for stamp in stamps), default=0)
    if time.time_ns() - newest < _CLOCK_TICK_NS:
        return unknown_version()
    return tokenize(place, stamps)
