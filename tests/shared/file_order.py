"""In which order files of tests are given to several processes: those that mostly wait between those that mostly compute."""

from __future__ import annotations

from collections.abc import Collection, Mapping

WAITING = ("dashboards", "distributed", "e2e", "notebooks", "server")
"""Folders whose tests wait for browsers, servers and clusters for most of their time."""
_ALL_BEGUN = 0.85
"""When the last of them begins, as a part of all other tests: few and long tests at the end would leave processes without work."""
_OF_A_FILE = 20
"""A file takes as long as so many tests, besides its tests: most of those that have hundreds are quick."""


def in_order(counts: Mapping[str, int], longest: Collection[str] = ()) -> list[str]:
    """Return the paths of files (of `tests/<folder>/...`), given how many tests each has, in the order in which they begin.

    The `longest` come first. Then files that wait are spread evenly among the others, which come by their number of tests, those with most first.

    >>> in_order({"tests/e2e/a.py": 1, "tests/e2e/b.py": 1, "tests/bag/a.py": 5, "tests/bag/b.py": 9, "tests/bag/c.py": 4}, ["tests/bag/c.py"])
    ['tests/bag/c.py', 'tests/e2e/a.py', 'tests/bag/b.py', 'tests/e2e/b.py', 'tests/bag/a.py']
    """
    first = [path for path in counts if path in longest]
    waiting = [path for path in counts if _waits(path) and path not in longest]
    computing = sorted(set(counts) - {*first, *waiting}, key=lambda path: (-counts[path], path))
    each = _ALL_BEGUN * sum(counts[path] + _OF_A_FILE for path in computing) / max(len(waiting), 1)
    order = first
    begun, n_waiting = 0, 0
    for path in computing:
        while n_waiting < len(waiting) and n_waiting * each <= begun:
            order.append(waiting[n_waiting])
            n_waiting += 1
        order.append(path)
        begun += counts[path] + _OF_A_FILE
    return order + waiting[n_waiting:]


def _waits(path: str) -> bool:
    return any(f"tests/{folder}/" in f"/{path}" for folder in WAITING)
