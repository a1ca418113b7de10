"""Text as numbers: the UTF-8 bytes of many strings, eight at a time, so that NumPy hashes and compares them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

WORD_BYTES = 8


class TextWords:
    """The bytes of strings as words of eight bytes. Words compare as the text does, which is by code point.

    Parameters
    ----------
    starts, lengths
        Where each string begins in `data`, and its bytes.
    data
        A buffer with all bytes.

    Examples
    --------
    >>> words = TextWords.of(pa.array(["ab", None, "a longer one"]))
    >>> words.lengths.tolist(), words.n_words
    ([2, 0, 12], 2)
    >>> hex(words.word(0, slice(None))[0])
    '0x6162000000000000'
    """

    def __init__(self, starts: Any, lengths: Any, data: Any) -> None:
        self.lengths = lengths
        self.n_words = -(-int(lengths.max(initial=0)) // WORD_BYTES)
        first, end = (int(starts.min()), int((starts + lengths).max())) if self.n_words else (0, 0)
        padded = np.zeros(end - first + WORD_BYTES, np.uint8)  # a word may begin at the last byte
        if self.n_words:
            padded[: end - first] = np.frombuffer(data, np.uint8)[first:end]
        self._starts = starts - first
        self._words: Any = np.ndarray((end - first + 1,), ">u8", padded.data, strides=(1,))

    @classmethod
    def of(cls, array: Any) -> TextWords:
        """Return the words of an Arrow array of text, or of a pandas object that holds one. Missing text has no bytes."""
        array = array if isinstance(array, (pa.Array, pa.ChunkedArray)) else pa.array(array.array)
        if isinstance(array, pa.ChunkedArray):
            array = array.cast(pa.large_string()).combine_chunks()
        if not pa.types.is_large_string(array.type):
            array = array.cast(pa.large_string())
        _, offsets, data = array.buffers()
        if not len(array):
            return cls(np.zeros(0, np.int64), np.zeros(0, np.int64), b"")
        bounds = np.frombuffer(offsets, np.int64)[array.offset : array.offset + len(array) + 1]
        lengths = np.diff(bounds)
        if array.null_count:
            lengths[np.asarray(pc.is_null(array))] = 0
        return cls(bounds[:-1], lengths, data)

    def word(self, number: int, rows: Any) -> Any:
        """Return a word of some rows (indices, or a slice); bytes behind the end are 0."""
        done = number * WORD_BYTES
        left = self.lengths[rows] - done
        places = self._starts[rows] + done
        ended = left <= 0
        if ended.any():
            places = np.where(ended, 0, places)
        unused = (np.clip(WORD_BYTES - left, 0, WORD_BYTES - 1) * 8).astype(np.uint64)
        words = (self._words[places].astype(np.uint64) >> unused) << unused
        if ended.any():
            words[ended] = 0
        return words
