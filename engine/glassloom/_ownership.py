"""Which process owns an object that has a socket, a thread or a child process. In a forked child such objects are dead.

``os.fork`` copies a client, its sockets and its locks, but not its threads. The copy must not write to the socket, wait
for a thread that isn't there, or remove the files of a cluster that its parent still uses.
"""

from __future__ import annotations

import contextlib
import os
import sys
import traceback
from typing import NoReturn

from glassloom.errors import ForkedError

_own_pid = os.getpid()
"""This process's: known without asking the system, which takes as long as a few calls of functions."""


class OwnerProcess:
    """The process that made an object.

    >>> owner = OwnerProcess("client of cluster 'c1'")
    >>> owner.is_current
    True
    >>> owner.require()

    Parameters
    ----------
    what
        What the process owns, for the message of `require`.
    """

    __slots__ = ("_pid", "_what")

    def __init__(self, what: str) -> None:
        self._what = what
        self._pid = _own_pid

    @property
    def is_current(self) -> bool:
        """Whether the calling process is the owner. Finalisers ask this before they close or remove anything."""
        return _own_pid == self._pid

    def require(self) -> None:
        """Raise if the calling process is a fork of the owner.

        Raises
        ------
        ForkedError
            It says which process made the object, and what to do instead.
        """
        if _own_pid != self._pid:
            raise ForkedError(
                f"the {self._what} belongs to process {self._pid} and can't be used in its forked child {_own_pid}; "
                "make a Client of your own in the child (Client('name of the cluster') attaches to the same one), or "
                "compute with scheduler='threads'"
            )


def _note_fork() -> None:
    global _own_pid
    _own_pid = os.getpid()


os.register_at_fork(after_in_child=_note_fork)


def exit_forked_child(error: BaseException | None) -> NoReturn:
    """End this process, the forked child of a task, as if the task's code had been the whole program.

    Nothing of the parent's is closed or removed: no finaliser and no ``atexit`` function runs.

    Parameters
    ----------
    error
        What that code has raised; None if it has returned.
    """
    status = 1
    with contextlib.suppress(BaseException):  # the exception and the streams may be the user's
        status = _exit_status(error)
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(status)


def _exit_status(error: BaseException | None) -> int:
    code = error.code if isinstance(error, SystemExit) else None
    if error is None or (isinstance(error, SystemExit) and code is None):
        return 0
    if isinstance(code, int):
        return code & 0xFF
    if code is None:
        traceback.print_exception(error)
    else:
        print(code, file=sys.stderr)
    return 1
