"""Places in users' code, as layers, runs and errors tell them: ``cell 3, line 2: x.sum()``, or ``/home/jo/churn.py:85: x.sum()``."""

from __future__ import annotations


def short_place(place: str) -> str:
    """Return a place without the folders of its file, for where there is no room for all: the file, the line and the code tell more.

    >>> short_place("/home/jo/2024/churn.py:85: total / count")
    'churn.py:85: total / count'
    >>> short_place("cell 3, line 2: total / count")
    'cell 3, line 2: total / count'
    """
    where, mark, code = place.partition(": ")
    return where.rpartition("/")[2] + mark + code
