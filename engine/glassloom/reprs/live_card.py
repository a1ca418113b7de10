"""`LiveCard`: an output of a notebook that is shown anew when what it says has changed.

It is replaced as a whole by the kernel, by its display id: that needs no script, and works in JupyterLab, Notebook, VS Code
and where notebooks are run without a browser. What is saved is what was shown last.
"""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Callable, Hashable
from typing import Any

from glassloom._supervision import Crash, start_thread

MAX_SHOWN = 8
"""How many outputs are kept current by default; older ones stay as they are, and say when that was so."""
PAUSE_S = 0.25
"""How long after an update the next may come."""


class LiveCard:
    """A card, in as many outputs as it was displayed in. Thread-safe.

    Parameters
    ----------
    facts
        Returns what the card is about: it is shown anew only if that has changed, for an output that is replaced folds up.
    bundle
        Returns the card, by MIME type; None if what it is about is gone, and the card stays as it is.
    prepare
        Called in a thread of the card's own before it looks at the facts: it alone may wait.
    next_look_s
        Returns in how many seconds to look at the facts again though nobody has called `refresh`; None: not by itself.
    max_shown
        How many outputs are kept current, the newest ones.
    """

    def __init__(
        self,
        facts: Callable[[], Hashable],
        bundle: Callable[[], dict[str, str] | None],
        prepare: Callable[[], None] | None = None,
        next_look_s: Callable[[], float | None] | None = None,
        max_shown: int = MAX_SHOWN,
    ) -> None:
        self._facts = facts
        self._bundle = bundle
        self._prepare = prepare
        self._next_look_s = next_look_s
        self._lock = threading.Lock()
        self._handles: deque[Any] = deque(maxlen=max_shown)
        self._called = threading.Event()
        self._is_due = False
        self._is_drawing = False
        self._shown: Hashable = None

    def show(self) -> None:
        """Display the card; raises NotImplementedError, as IPython wants it, if this process is no notebook's kernel."""
        ipython = sys.modules.get("IPython")
        shell = ipython.get_ipython() if ipython is not None else None
        if shell is None or not hasattr(shell, "kernel"):
            raise NotImplementedError
        from IPython.display import display  # optional dependency

        facts, bundle = self._facts(), self._bundle()
        if bundle is None:
            raise NotImplementedError
        handle = display(bundle, raw=True, display_id=True)
        with self._lock:
            self._handles.append(handle)
            self._shown = facts
        self.refresh()

    def refresh(self) -> None:
        """Something may have changed. Waits for nothing."""
        with self._lock:
            self._is_due = True
            self._called.set()
            if self._is_drawing or not self._handles:
                return
            self._is_drawing = True
        start_thread("glassloom-card", self._draw, on_crash=self._crashed)

    def _draw(self) -> None:
        while self._take():
            if self._prepare is not None:
                self._prepare()
            facts = self._facts()
            with self._lock:
                is_other, self._shown = facts != self._shown, facts
                handles = list(self._handles)
            bundle = self._bundle() if is_other else None
            for handle in handles if bundle is not None else []:
                handle.update(bundle, raw=True)
            threading.Event().wait(PAUSE_S)
            self._wait_for_next_look()

    def _wait_for_next_look(self) -> None:
        """Be due again after some time, if so is wished, or at once if somebody calls `refresh`."""
        again_s = None if self._next_look_s is None else self._next_look_s()
        if again_s is not None:
            self._called.wait(again_s)
            with self._lock:
                self._is_due = True

    def _take(self) -> bool:
        """Take up what is due; if nothing is, the thread ends."""
        with self._lock:
            is_due, self._is_due = self._is_due, False
            self._called.clear()
            self._is_drawing = is_due
            return is_due

    def _crashed(self, crash: Crash) -> None:
        """Outputs stay as they are, with the time of that: the kernel ends, or can't send."""
        with self._lock:
            self._is_drawing = False
