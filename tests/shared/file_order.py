"""Which tests one process runs, and in which order several import and take them: what takes longest first, files that mostly wait between those that compute."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from xdist.scheduler import LoadFileScheduling

TOGETHER = ("e2e", "dashboards/in_browser")
"""Folders whose files one process runs, as they share a JupyterLab or a dashboards process, and a browser. They come first."""
WAITING = ("dashboards", "distributed", "notebooks", "server")
"""Folders whose tests wait for browsers, servers and clusters for most of their time."""
_ALL_BEGUN = 0.85
"""When the last of them begins, as a part of all other tests: few and long tests at the end would leave processes without work."""
_OF_A_FILE = 20
"""A file takes as long as so many tests, besides its tests: most of those that have hundreds are quick."""


class FileScheduling(LoadFileScheduling):
    """Gives each process the next file, in the order in which tests were collected, and all files of some folders to one."""

    def _split_scope(self, nodeid: str) -> str:
        file = super()._split_scope(nodeid)
        return next((folder for folder in TOGETHER if _is_in(file, folder)), file)


def folders_from(sizes: Mapping[str, int], number: int) -> list[str]:
    """Return folders of tests, given how large each is, in the order in which process `number` imports them: the largest first, and each process begins with another one.

    So where no test is compiled yet, each process compiles others, and reads what the others have compiled.

    >>> folders_from({"bag": 10, "engine": 90, "array": 50}, 1)
    ['array', 'bag', 'engine']
    """
    ordered = sorted(sizes, key=lambda folder: (-sizes[folder], folder))
    first = number % max(len(ordered), 1)
    return ordered[first:] + ordered[:first]


def in_order(counts: Mapping[str, int], longest: Collection[str] = ()) -> list[str]:
    """Return the paths of files (of `tests/<folder>/...`), given how many tests each has, in the order in which they begin.

    The `longest` come first, after those that one process runs. Then files that wait are spread evenly among the others, which come by their number of tests, those with most first.

    >>> counts = {"bag/a.py": 5, "bag/b.py": 9, "bag/c.py": 4, "e2e/a.py": 1, "server/a.py": 1, "server/b.py": 1}
    >>> in_order(counts, ["bag/c.py"])
    ['e2e/a.py', 'bag/c.py', 'server/a.py', 'bag/b.py', 'server/b.py', 'bag/a.py']
    """
    counts = dict(sorted(counts.items()))
    together = [path for path in counts if _is_in(path, *TOGETHER)]
    first = together + [path for path in counts if path in longest and path not in together]
    waiting = [path for path in counts if _is_in(path, *WAITING) and path not in first]
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


def _is_in(path: str, *folders: str) -> bool:
    return any(f"/{folder}/" in f"/{path}" for folder in folders)
