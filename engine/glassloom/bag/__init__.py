"""Lazy bags: any Python objects in partitions, with the functions of `itertools` and `functools`, in parallel.

>>> import glassloom.bag as gb
>>> words = gb.from_sequence("the quick fox and the lazy dog".split(), npartitions=2)
>>> words.frequencies().topk(1, key=1).compute()
[('the', 2)]
"""

from glassloom.bag.collection import Bag
from glassloom.bag.creation import concat, from_delayed, from_sequence, map, map_partitions, range, zip
from glassloom.bag.people import make_people
from glassloom.bag.text_files import read_text, to_textfiles

__all__ = [
    "Bag",
    "concat",
    "from_delayed",
    "from_sequence",
    "make_people",
    "map",
    "map_partitions",
    "range",
    "read_text",
    "to_textfiles",
    "zip",
]
