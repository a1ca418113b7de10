"""Values by object: they go with the object, and the oldest go when all take more than the bound."""

from __future__ import annotations

import gc
import subprocess
import sys

import numpy as np
from glassloom.graph.identity_cache import BoundedIdentityCache


def test_equal_objects_are_told_apart_and_values_go_with_their_object() -> None:
    cache: BoundedIdentityCache[str] = BoundedIdentityCache(100)
    one, other = np.zeros(3), np.zeros(3)
    cache.set(one, "one", 10)
    assert cache.get(one) == "one" and cache.get(other) is None
    cache.set(one, "again", 20)
    assert cache.get(one) == "again" and cache.nbytes == 20
    del one
    gc.collect()
    assert len(cache) == 0 and cache.nbytes == 0


def test_the_oldest_values_go_when_the_space_is_needed() -> None:
    cache: BoundedIdentityCache[int] = BoundedIdentityCache(100)
    owners = [np.zeros(1) for _ in range(6)]
    for number, owner in enumerate(owners):
        cache.set(owner, number, 30)
        assert cache.nbytes <= 100
    assert [cache.get(owner) for owner in owners] == [None, None, None, 3, 4, 5]
    cache.set(owners[0], 0, 101)
    assert cache.get(owners[0]) is None and cache.get(owners[5]) == 5
    cache.set(owners[1], 1, 100)
    assert [cache.get(owner) for owner in owners] == [None, 1, None, None, None, None]


_ENTRIES = """
import gc
from glassloom.graph.identity_cache import IdentityCache

class Owner:
    pass

cache, owners = IdentityCache(), [Owner() for _ in range(50)]
gc.collect()
before = len(gc.get_objects())
for number, owner in enumerate(owners):
    cache.set(owner, number)
print(len(gc.get_objects()) - before)
assert [cache.get(owner) for owner in owners] == [*range(50)]
del owner, owners
gc.collect()
assert not len(cache)
"""


def test_an_entry_is_two_objects_for_the_garbage_collector() -> None:
    """In a process of its own: in this one other threads make objects, too."""
    made = subprocess.run([sys.executable, "-c", _ENTRIES], check=True, capture_output=True, text=True, timeout=300)
    assert int(made.stdout) <= 2 * 50 + 10
