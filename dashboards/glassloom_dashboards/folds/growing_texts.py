"""Short texts by row number, in few bytes each: joined, and two hexadecimal digits a byte where they are hashes.

>>> texts = GrowingTexts()
>>> texts.extend(["0, 1", "0, 2"])
>>> texts[1]
'0, 2'
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

import numpy as np
from numpy.typing import NDArray

_LEAST_ROWS = 512
"""Fewer texts than these stay as they are until there are more: a batch takes as much memory as some dozens of texts."""
_MOST_ROWS = 8192
"""More are kept as several: reading one of them takes as long as there are texts in its batch."""
_LEAST_DIGITS = 8
_NO_PLACES = np.empty(0, np.int64)


class _Batch:
    """Joined texts, none of which changes any more."""

    __slots__ = ("_data", "_lengths", "rows")

    def __init__(self, texts: list[str]) -> None:
        joined = "".join(texts)
        lengths = np.fromiter(map(len, texts), np.int64, len(texts))
        digits = int(lengths[0])
        tokens = _tokens(joined) if digits >= _LEAST_DIGITS and digits % 2 == 0 and (lengths == digits).all() else None
        self.rows = len(texts)
        self._data: str | bytes = joined if tokens is None else tokens
        self._lengths = lengths.astype(np.min_scalar_type(int(lengths.max()))) if tokens is None else digits

    @property
    def nbytes(self) -> int:
        return len(self._data) + (self._lengths.nbytes if isinstance(self._lengths, np.ndarray) else 0)

    def part(self, low: int, high: int) -> tuple[str, list[int]]:
        """Return the texts from `low` to before `high` joined, and where each of them ends in that."""
        if isinstance(self._data, bytes):
            digits = int(self._lengths)
            stops = list(range(digits, (high - low + 1) * digits, digits))
            return self._data[low * digits // 2 : high * digits // 2].hex(), stops
        ends = np.cumsum(self._lengths, dtype=np.int64)
        start = int(ends[low - 1]) if low else 0
        return self._data[start : int(ends[high - 1])], (ends[low:high] - start).tolist()

    def joined(self, low: int, high: int) -> str:
        """Return the texts from `low` to before `high` joined."""
        if isinstance(self._data, bytes):
            digits = int(self._lengths)
            return self._data[low * digits // 2 : high * digits // 2].hex()
        if low == 0 and high == self.rows:
            return self._data
        lengths = np.asarray(self._lengths)
        start, size = (int(lengths[part].sum(dtype=np.int64)) for part in (slice(low), slice(low, high)))
        return self._data[start : start + size]

    def equal(self, text: str) -> NDArray[np.int64]:
        """Return the places of the texts that are this one."""
        if isinstance(self._data, bytes):
            token = _tokens(text) if len(text) == self._lengths else None
            rows = np.frombuffer(self._data, np.uint8).reshape(self.rows, -1)
            return np.flatnonzero((rows == np.frombuffer(token, np.uint8)).all(axis=1)) if token else _NO_PLACES
        if text not in self._data:
            return _NO_PLACES
        if not self._data.isascii():
            joined, stops = self.part(0, self.rows)
            known = zip([0, *stops[:-1]], stops, strict=True)
            return np.flatnonzero([joined[start:stop] == text for start, stop in known])
        lengths, data = np.asarray(self._lengths), np.frombuffer(self._data.encode(), np.uint8)
        places = np.flatnonzero(lengths == len(text))
        starts = np.cumsum(lengths, dtype=np.int64)[places] - len(text)
        for place, byte in reversed(list(enumerate(text.encode()))):  # ends differ more often than beginnings
            is_same = data[starts + place] == byte
            places, starts = places[is_same], starts[is_same]
        return places


def _tokens(text: str) -> bytes | None:
    try:
        tokens = bytes.fromhex(text)
    except ValueError:
        return None
    return tokens if tokens.hex() == text else None  # capital letters and spaces would be lost


class GrowingTexts:
    """Texts by row number. Rows keep their numbers when the oldest are dropped."""

    def __init__(self) -> None:
        self._firsts: list[int] = []
        self._batches: list[_Batch] = []
        self._newest: list[str] = []
        self._rows = 0

    def __len__(self) -> int:
        """Return how many there have been."""
        return self._rows

    def __getitem__(self, row: int) -> str:
        return self.take(np.array([row]))[0]

    @property
    def nbytes(self) -> int:
        """The size of all texts but the newest, without what Python needs for each batch."""
        return sum(batch.nbytes for batch in self._batches)

    def extend(self, texts: list[str]) -> None:
        """Append `texts` as the next rows."""
        texts = self._newest + texts
        first = self._rows - len(self._newest)
        place = 0
        while len(texts) - place >= _LEAST_ROWS:
            self._firsts.append(first + place)
            self._batches.append(_Batch(texts[place : place + _MOST_ROWS]))
            place = min(place + _MOST_ROWS, len(texts))
        self._newest, self._rows = texts[place:], first + len(texts)

    def drop_before(self, row: int) -> None:
        """Forget the batches that end before row number `row`."""
        gone = sum(1 for first, batch in zip(self._firsts, self._batches, strict=True) if first + batch.rows <= row)
        del self._firsts[:gone], self._batches[:gone]

    def take(self, rows: NDArray[Any]) -> list[str]:
        """Return the texts of the given row numbers, none of which may have been dropped."""
        taken: list[str] = []
        opened, first, stop = ("", [0]), 0, 0
        for row in rows.tolist():
            if not first <= row < stop:
                first, stop, opened = self._open(row)
            text, stops = opened
            place = row - first
            taken.append(text[stops[place - 1] if place else 0 : stops[place]])
        return taken

    def _open(self, row: int) -> tuple[int, int, tuple[str, list[int]]]:
        """Return the numbers of the first row of a row's batch and of the one after its last, and its texts."""
        newest = self._rows - len(self._newest)
        if row >= newest:
            return newest, self._rows, ("".join(self._newest), np.cumsum([len(text) for text in self._newest]).tolist())
        number = bisect_right(self._firsts, row) - 1
        batch, first = self._batches[number], self._firsts[number]
        return first, first + batch.rows, batch.part(0, batch.rows)

    def equal(self, text: str, start: int, stop: int) -> NDArray[np.int64]:
        """Return the numbers of the rows from `start` to before `stop` that have this very text; none of them may have been dropped."""
        found, row, newest = [], start, self._rows - len(self._newest)
        while row < min(stop, newest):
            number = bisect_right(self._firsts, row) - 1
            batch, first = self._batches[number], self._firsts[number]
            high = min(stop - first, batch.rows)
            places = batch.equal(text)
            found.append(places[(places >= row - first) & (places < high)] + first)
            row = first + high
        low = max(row, newest)
        found.append(np.array([n for n in range(low, stop) if self._newest[n - newest] == text], np.int64))
        return np.concatenate(found)

    def holds(self, text: str, start: int, stop: int) -> bool:
        """Tell whether `text` may be in a text of the rows from `start` to before `stop`; if not, it surely isn't.

        This is much faster than looking at each text: what it finds may begin in one and end in the next.
        """
        row, newest = start, self._rows - len(self._newest)
        while row < min(stop, newest):
            number = bisect_right(self._firsts, row) - 1
            batch, first = self._batches[number], self._firsts[number]
            high = min(stop - first, batch.rows)
            if text in batch.joined(row - first, high):
                return True
            row = first + high
        return text in "".join(self._newest[max(row - newest, 0) : max(stop - newest, 0)])
