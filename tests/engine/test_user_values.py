"""Values and exceptions of users that break rules: the task gets an error or its result, and the worker goes on."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fault_helpers import worker_pids
from glassloom import Client, wait
from glassloom.errors import RemoteError, SerialisationError
from glassloom.protocol import failure


class NoModule:
    """Its class says that it comes from no module."""


NoModule.__module__ = None  # type: ignore[assignment]


class Sized:
    """Says that it has so many bytes."""

    def __init__(self, nbytes: Any) -> None:
        self.nbytes = nbytes


class Hostile:
    """Whatever is asked of it raises."""

    def __init__(self, error: type[BaseException] = ValueError) -> None:
        self.__dict__["error"] = error

    def __getattr__(self, name: str) -> Any:
        raise self.__dict__["error"](name)

    def __sizeof__(self) -> int:
        raise self.__dict__["error"]("sizeof")

    def __len__(self) -> int:
        raise self.__dict__["error"]("len")

    def __repr__(self) -> str:
        raise self.__dict__["error"]("repr")

    def __eq__(self, other: object) -> bool:
        raise self.__dict__["error"]("eq")

    def __hash__(self) -> int:
        raise self.__dict__["error"]("hash")

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise self.__dict__["error"]("reduce")


def of_hostile_kind() -> Any:
    """Return an object of a class whose own attributes raise."""

    class Kind(type):
        def __getattribute__(cls, name: str) -> Any:
            if name in ("__module__", "__mro__", "__name__", "__qualname__"):
                raise ValueError(name)
            return super().__getattribute__(name)

    class OfHostileKind(metaclass=Kind):
        pass

    return OfHostileKind()


class Junk:
    """Pickles by a `__reduce__` that returns no such thing."""

    def __reduce__(self) -> Any:
        return 17


class Unloadable:
    """Pickles, but doesn't unpickle."""

    def __init__(self, nbytes: int) -> None:
        self.payload = bytes(nbytes)

    def __setstate__(self, state: Any) -> None:
        raise ValueError("it can't come back")


RESULTS: dict[str, Callable[[], Any]] = {
    "class without a module": NoModule,
    "nbytes beyond 64 bits": lambda: Sized(2**70),
    "negative nbytes": lambda: Sized(-5),
    "nbytes of text": lambda: Sized("many"),
    "everything raises": Hostile,
    "everything raises SystemExit": lambda: Hostile(SystemExit),
    "class whose attributes raise": of_hostile_kind,
    "junk from reduce": Junk,
    "a list of them": lambda: [Hostile(), Junk(), NoModule()],
    "a lock": threading.Lock,
    "a small array subclass": lambda: np.ma.masked_array([1, 2]),
}


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_that_breaks_rules_can_be_used_on_its_worker(client: Client, name: str) -> None:
    made = client.submit(RESULTS[name], pure=False)
    used = client.submit(lambda value: type(value) is not None, made, pure=False)
    assert used.result(timeout=60) is True


class BadText(Exception):
    def __str__(self) -> str:
        raise ValueError("no text")

    __repr__ = __str__


class BadNotes(Exception):
    __notes__ = 17  # type: ignore[assignment]


class TwoArguments(Exception):
    def __init__(self, left: int, right: int) -> None:
        super().__init__(f"{left} and {right}")


class BadRow(ValueError):
    def __init__(self, row: int) -> None:
        super().__init__(f"bad row {row}")
        self.row = row


class OwnNew(Exception):
    def __new__(cls, left: int, right: int) -> OwnNew:
        return super().__new__(cls, f"{left} and {right}")

    def __init__(self, left: int, right: int) -> None:
        super().__init__(f"{left} and {right}")


class OwnBase(BaseException):
    pass


class OfHostileTraceback(Exception):
    def with_traceback(self, tb: Any) -> Any:
        raise ValueError("no traceback")


class WithArray(Exception):
    def __init__(self, text: str, array: np.ndarray) -> None:
        super().__init__(text, array)

    def __str__(self) -> str:
        return str(self.args[0])


def raise_it(make: Callable[[], BaseException]) -> None:
    raise make()


def recurse(depth: int) -> int:
    return recurse(depth + 1)


ERRORS: dict[str, tuple[Callable[[], BaseException], type[BaseException], str]] = {
    "surrogates": (lambda: ValueError("can't read \udcff.csv"), ValueError, "can't read"),
    "no text": (BadText, BadText, ""),
    "bad notes": (BadNotes, BadNotes, ""),
    "arguments of its own": (lambda: TwoArguments(1, 2), TwoArguments, "1 and 2"),
    "an own __new__": (lambda: OwnNew(1, 2), RemoteError, "OwnNew: 1 and 2"),
    "own base": (lambda: OwnBase("own"), RemoteError, "the task raised OwnBase: own"),
    "exit": (lambda: SystemExit(4), RemoteError, "the task raised SystemExit: 4"),
    "interrupt": (lambda: KeyboardInterrupt("me"), RemoteError, "the task raised KeyboardInterrupt: me"),
    "hostile traceback": (lambda: OfHostileTraceback("odd"), OfHostileTraceback, "odd"),
    "hostile argument": (lambda: ValueError(Hostile()), RemoteError, "ValueError"),
    "lock": (lambda: ValueError(threading.Lock()), RemoteError, "ValueError: <unlocked"),
    "read-only": (lambda: ValueError("assignment destination is read-only \udcff"), ValueError, "read-only"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_an_exception_that_breaks_rules_is_the_tasks_error(client: Client, name: str) -> None:
    make, kind, text = ERRORS[name]
    with pytest.raises(Exception) as caught:  # noqa: PT011 (which one, and which text, is checked below)
        client.submit(raise_it, make, pure=False).result(timeout=60)
    error = caught.value
    assert type(error).__name__ == kind.__name__
    if name not in ("no text", "bad notes"):
        assert text in str(error)


def test_an_exceptions_text_is_made_once_and_its_attributes_arrive(client: Client) -> None:
    with pytest.raises(BadRow, match=r"^bad row 7") as caught:
        client.submit(lambda: raise_it(lambda: BadRow(7)), pure=False).result(timeout=60)
    assert caught.value.row == 7
    assert caught.value.args == ("bad row 7",)


def test_a_recursion_without_end_is_the_tasks_error(client: Client) -> None:
    with pytest.raises(RecursionError, match="maximum recursion depth exceeded"):
        client.submit(recurse, 0).result(timeout=60)


def test_an_exception_with_a_huge_array_travels_without_it(client: Client) -> None:
    future = client.submit(lambda: raise_it(lambda: WithArray("bad block", np.ones(2**22))), pure=False)
    with pytest.raises(RemoteError, match=r"^WithArray: bad block") as caught:
        future.result(timeout=60)
    assert "in raise_it" in caught.value.__notes__[0]
    small = client.submit(lambda: raise_it(lambda: WithArray("bad block", np.ones(20))), pure=False)
    assert small.exception(timeout=60).args[1].sum() == 20.0


def test_a_failures_size_is_bounded() -> None:
    described = failure.describe(WithArray("x" * 10**6, np.ones(2**22)))
    assert len(described.pickled) + len(described.message) + len(described.traceback) < 100_000


@pytest.mark.fault("a result pickles, but doesn't unpickle")
@pytest.mark.parametrize("nbytes", [10, 100_000])
def test_a_result_that_does_not_unpickle_is_a_clear_error(client: Client, nbytes: int) -> None:
    pids = worker_pids(client)
    made = client.submit(Unloadable, nbytes, pure=False)
    wait(made)
    with pytest.raises(SerialisationError, match="ValueError: it can't come back") as caught:
        made.result(timeout=60)
    assert any(str(made.key) in note for note in caught.value.__notes__)
    assert worker_pids(client) == pids


@pytest.mark.fault("a result pickles, but doesn't unpickle")
def test_a_result_that_does_not_unpickle_can_be_used_where_it_is(client: Client) -> None:
    pids = worker_pids(client)
    made = client.submit(Unloadable, 100_000, pure=False)
    wait(made)
    with pytest.raises(SerialisationError):
        made.result(timeout=60)
    assert client.submit(lambda value: len(value.payload), made).result(timeout=60) == 100_000
    assert worker_pids(client) == pids


def raise_unseen() -> None:
    sys.stderr = open(os.devnull, "w")  # noqa: SIM115 (the process ends)
    raise ValueError("in the child")


CHILDREN: dict[str, Callable[[], None]] = {
    "sys.exit": lambda: sys.exit(0),
    "os._exit": lambda: os._exit(0),
    "an exception": raise_unseen,
    "nothing": lambda: None,
}


def fork_and_wait(in_child: Callable[[], None]) -> tuple[int, int]:
    """Fork; let the child do this; return this process and how the child ended."""
    pid = os.fork()
    if pid == 0:
        in_child()
        return os.getpid(), -1
    _, status = os.waitpid(pid, 0)
    return os.getpid(), os.waitstatus_to_exitcode(status)


@pytest.mark.fault("a task forks, and its child ends in some way")
@pytest.mark.parametrize("name", CHILDREN)
def test_the_child_of_a_task_that_forks_is_no_worker(client: Client, name: str, tmp_path: Path) -> None:
    pids = worker_pids(client)
    pid, code = client.submit(fork_and_wait, CHILDREN[name], pure=False).result(timeout=60)
    assert pid in pids
    assert code == (1 if name == "an exception" else 0)
    numbers = client.map(lambda number: number + 1, range(50), pure=False)
    assert client.gather(numbers) == list(range(1, 51))
    assert worker_pids(client) == pids


@pytest.mark.fault("a task forks, and its child ends in some way")
def test_a_child_that_uses_its_copy_of_the_worker_gets_an_error(client: Client, tmp_path: Path) -> None:
    def fork_and_secede(path: str) -> int:
        from glassloom import secede

        pid = os.fork()
        if pid == 0:
            try:
                secede()
            except BaseException as error:
                Path(path).write_text(f"{type(error).__name__}")
        else:
            os.waitpid(pid, 0)
        return os.getpid()

    pids = worker_pids(client)
    assert client.submit(fork_and_secede, str(tmp_path / "error"), pure=False).result(timeout=60) in pids
    assert (tmp_path / "error").read_text() in ("ForkedError", "ClusterError")
    assert worker_pids(client) == pids


def test_the_text_of_a_failure_has_the_users_frames_only() -> None:
    called = Path(failure.__file__).parent / "calls.py"
    scope: dict[str, Any] = {}
    exec(compile("def call(function):\n    return function()\n", str(called), "exec"), scope)
    try:
        scope["call"](lambda: 1 / 0)
    except ZeroDivisionError as error:
        text = failure.describe(error).traceback
    assert "calls.py" not in text and "test_user_values.py" in text and text.endswith("division by zero\n")
