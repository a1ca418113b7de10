"""Random tokens are used once: by one thread, and on one side of a fork."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

from glassloom.graph import random_token


def test_no_two_threads_get_the_same_token() -> None:
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda _: [random_token() for _ in range(1000)], range(8)))
    tokens = [token for some in found for token in some]
    assert len(set(tokens)) == 8000
    assert {len(token) for token in tokens} == {32}


def test_a_forked_child_gets_other_tokens_than_its_parent() -> None:
    random_token()
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.write(writing, "".join(random_token() for _ in range(100)).encode())
        os._exit(0)
    os.waitpid(child, 0)
    text = os.read(reading, 3200).decode()
    os.close(reading)
    os.close(writing)
    theirs = {text[start : start + 32] for start in range(0, 3200, 32)}
    assert len(theirs) == 100
    assert theirs.isdisjoint({random_token() for _ in range(300)})
