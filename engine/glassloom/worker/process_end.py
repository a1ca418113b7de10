"""How a worker's process ends by itself: together with the programs that its tasks have started."""

from __future__ import annotations

import os
import signal
from typing import NoReturn


def end_with_children() -> NoReturn:
    """End this process and its group, by SIGKILL: no other end strikes all of a group at once.

    The fork server ends the group of a worker that has ended, and the kernel ends it when the fork server is killed (see
    `fork_server`), but the kernel does so only while the worker is there. A worker that ended alone just before the fork
    server was killed would leave its tasks' programs to nobody.
    """
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(0)
