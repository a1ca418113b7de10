"""`OptionsInUse`: which options of other libraries the tasks of a process have set. Tasks with unlike options take turns.

Such options are of a whole process, so tasks run beside each other only if theirs are equal. Those that need others wait in the order in which they came, and
a task that comes later goes before none of them. A task that waits for results of other tasks gives its turn up meanwhile.

Tasks without options take part once a task of the process has had some, or has waited with some that it, or one before it, has set itself; until then they pass
by, at the price of a look at `is_active`.
"""

from __future__ import annotations

import importlib
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

Options = tuple[tuple[str, Any], ...]
"""Names and values of options of a library."""
Apply = Callable[[Options], None]
"""Sets options. Raises if one can't be set; the others may be set then, or not."""
AllOptions = tuple[tuple[Apply, Options], ...]
"""Options of several libraries."""


class Library(NamedTuple):
    """How the options of a library are read and set.

    Attributes
    ----------
    changed
        Returns those that aren't as they are in a new process. It is called for each computation.
    current
        Returns all.
    defaults
        Returns all as they are in a new process.
    apply
        A function of a module, which tasks refer to.
    values
        Dicts of the library's that have the values: as long as they are equal to what they were, no option is changed.
    """

    changed: Callable[[], Options]
    current: Callable[[], Options]
    defaults: Callable[[], Options]
    apply: Apply
    values: list[dict[str, Any]]


libraries: list[Library] = []
"""Those that have made themselves known."""
_modules: dict[str, str] = {}


def load_options_later(package: str, module: str) -> None:
    """Promise that importing `module` makes the options of `package` known; it is imported once that is."""
    _modules[package] = module


def load_options() -> None:
    """Make the options of those packages known that have been imported."""
    for package in list(_modules):
        if _is_imported(package) and (module := _modules.pop(package, None)):
            importlib.import_module(module)


def _is_imported(package: str) -> bool:
    """Whether a package has been imported, and not only begun to be, in another thread: until then none of its options has been changed."""
    found = sys.modules.get(package)
    return found is not None and not getattr(getattr(found, "__spec__", None), "_initializing", False)


def changed_options() -> AllOptions:
    """Return the options that aren't as they are in a new process."""
    if _modules:
        load_options()
    return tuple([(library.apply, options) for library in libraries if (options := library.changed())])


class _Turn:
    """A thread that waits until its options can be set."""

    __slots__ = ("has_come", "ident", "options")

    def __init__(self, ident: int, options: AllOptions) -> None:
        self.ident = ident
        self.options = options
        self.has_come = False


class OptionsInUse:
    """The options that are set for the tasks which run now. Thread-safe.

    Parameters
    ----------
    running
        Returns the identifiers of the threads that run tasks, whichever they are.
    """

    def __init__(self, running: Callable[[], Iterable[int]] = tuple) -> None:
        self.is_active = False
        """Whether a task has had options in this process, or has waited with some that it has set itself."""
        self.running = running
        self._usual: AllOptions = ()
        """Those that aren't as they are in a new process although no task has set them: what is called beside the tasks has."""
        self._changed = threading.Condition()
        self._threads: dict[int, AllOptions] = {}
        """What the threads need that run now; it is the same for all of them."""
        self._options: AllOptions = ()
        """What they need, or those that ran last."""
        self._before: AllOptions | None = None
        """All options as they were when the first of the threads began; None if none runs."""
        self._as_set: AllOptions = ()
        """What `changed_options` returned after that: it is another one where a task has set options itself."""
        self._restores = False
        """Whether one of the threads that have run since then has set options itself: its task may set them back at any time, or never."""
        self._own: set[int] = set()
        """Threads whose tasks have set options themselves and then waited: they go on with these."""
        self._counted: set[int] = set()
        """Those whose tasks, without options, had begun before the process was active: `end_counted` ends them."""
        self._turns: deque[_Turn] = deque()
        self._waiting: set[int] = set()
        """Threads that wait for results."""
        self._aside: dict[int, AllOptions] = {}
        """Threads whose tasks have left the running ones for as long as they wish, and the options that these have set themselves."""

    @contextmanager
    def during(self, options: AllOptions) -> Iterator[None]:
        """Set options meanwhile. Waits while tasks run that need others."""
        ident = threading.get_ident()
        outer = self._threads.get(ident)
        if outer == options:
            yield
            return
        was_counted = ident in self._counted
        if outer is not None:
            self._leave(ident)
        self._enter(ident, options)
        try:
            yield
        finally:
            self._leave(ident)
            if outer is None or was_counted:
                self._own.discard(ident)
            else:
                self._enter(ident, outer)

    @contextmanager
    def set_aside(self) -> Iterator[None]:
        """Let tasks with other options run meanwhile: the calling thread waits for results, or for its place.

        Afterwards options are set as they were, also where the task had set others itself.
        """
        ident = threading.get_ident()
        if ident in self._waiting:
            yield
            return
        self._note_own(ident)
        options, was_counted = self._threads.get(ident), ident in self._counted
        if options is not None:
            if has_changed := (now := changed_options()) != self._as_set:
                options = now
                self._own.add(ident)
            self._leave(ident, restores=has_changed)
        self._waiting.add(ident)
        try:
            yield
        finally:
            self._waiting.discard(ident)  # before it is asked whether the process is active: see `_count_running`
            if options is not None:
                self._enter(ident, options, is_counted=was_counted)
            elif self.is_active and ident not in self._aside and ident in self.running():
                self._enter(ident, (), is_counted=True)

    def stand_aside(self) -> None:
        """The calling thread's task waits by means of its own: if it has no options it takes no turns until `come_back`, or its end.

        Options that it has set itself are taken back meanwhile.
        """
        ident = threading.get_ident()
        self._note_own(ident)
        with self._changed:
            self._aside[ident] = ()
            if self._threads.get(ident) != ():
                return
            if has_changed := (now := changed_options()) != self._as_set:
                self._aside[ident] = now
            self._remove(ident, restores=has_changed)

    def come_back(self) -> None:
        """The calling thread's task takes turns again, with the options that it has set itself."""
        ident = threading.get_ident()
        options = self._aside.pop(ident, ())
        if self.is_active and ident in self.running():
            if options:
                self._own.add(ident)
            self._enter(ident, options, is_counted=True)

    @contextmanager
    def beside_tasks(self) -> Iterator[None]:
        """The calling thread runs no task: the options that it sets meanwhile are those of the process."""
        before = changed_options()
        try:
            yield
        finally:
            with self._changed:
                if not self.is_active and (after := changed_options()) != before:
                    self._usual = _with_changes(self._usual, before, after)

    def begin_thread(self) -> None:
        """The calling thread is going to run tasks; another one that had its identifier is gone."""
        ident = threading.get_ident()
        self._aside.pop(ident, None)
        self._own.discard(ident)

    def end_counted(self) -> None:
        """The calling thread's task has ended: it may be one of those that had begun before."""
        ident = threading.get_ident()
        with self._changed:
            if ident in self._counted:
                self._remove(ident)
            self._own.discard(ident)

    def _enter(self, ident: int, options: AllOptions, *, is_counted: bool = False) -> None:
        with self._changed:
            if options and not self.is_active:
                self._count_running(ident)
            if ident in self._threads:  # it has just been counted, or has options that it keeps
                if not options:
                    return
                self._remove(ident)
            if self._turns or not self._may_begin(ident, options):
                self._wait_for_turn(ident, options)
            self._options = options
            self._threads[ident] = options
            if is_counted:
                self._counted.add(ident)
            if ident in self._own:
                self._restores = True
            if self._before is None:
                try:
                    self._set(options)
                except BaseException:
                    self._remove(ident)
                    raise

    def _leave(self, ident: int, *, restores: bool = False) -> None:
        with self._changed:
            self._remove(ident, restores=restores)

    def _may_begin(self, ident: int, options: AllOptions) -> bool:
        """Whether nothing runs, or what needs the same. A task that has set options itself, and may set them back at any time, runs alone."""
        if not self._threads:
            return True
        if ident in self._own or self._own.intersection(self._threads):
            return False
        return self._options == options and changed_options() == self._as_set

    def _note_own(self, ident: int) -> None:
        """The calling thread is going to wait: if its task, or one that runs beside it, has set options itself, all tasks take turns from now on."""
        if self.is_active or ident not in self.running() or changed_options() == self._usual:
            return
        with self._changed:
            if not self.is_active:
                self._count_running()

    def _count_running(self, but: int | None = None) -> None:
        """Count the tasks that run now: from now on those that begin see `is_active`, and ask for their turn."""
        self.is_active = True
        for other in self.running():
            if other != but and other not in self._waiting and other not in self._aside:
                self._threads[other] = self._options = ()
                self._counted.add(other)
        if self._threads:  # which may have set options themselves before
            defaults = tuple([(library.apply, library.defaults()) for library in libraries])
            self._before, self._as_set = _with_changes(defaults, (), self._usual), self._usual

    def _wait_for_turn(self, ident: int, options: AllOptions) -> None:
        turn = _Turn(ident, options)
        self._turns.append(turn)
        try:
            self._changed.wait_for(lambda: turn.has_come)
        except BaseException:  # such as KeyboardInterrupt
            if turn.has_come:
                self._remove(ident)
            else:
                self._turns.remove(turn)
                self._begin_turns()
            raise

    def _remove(self, ident: int, *, restores: bool = False) -> None:
        """A task has ended, or waits: then what it has set itself is taken back, too, where it had no options."""
        self._counted.discard(ident)
        if self._threads.pop(ident, None) is None:
            return
        self._restores = self._restores or restores
        if not self._threads:
            before, self._before = self._before, None
            restores, self._restores = self._restores or bool(self._options), False
            if before and restores:
                _apply(before)
        self._begin_turns()

    def _begin_turns(self) -> None:
        """Let the first of those that wait begin, if it can, with all that need the same."""
        if not self._turns or not self._may_begin(self._turns[0].ident, self._turns[0].options):
            return
        self._options = self._turns[0].options
        begun = [turn for turn in self._turns if turn.options == self._options]
        self._turns = deque([turn for turn in self._turns if turn.options != self._options])
        for turn in begun:
            self._threads[turn.ident] = turn.options
            turn.has_come = True
        self._changed.notify_all()

    def _set(self, options: AllOptions) -> None:
        before = tuple([(library.apply, library.current()) for library in libraries])
        try:
            _apply(options)
        except BaseException:
            _apply(before)
            raise
        self._before, self._as_set = before, changed_options()


def _apply(options: AllOptions) -> None:
    for apply, some in options:
        apply(some)


def _with_changes(options: AllOptions, before: AllOptions, after: AllOptions) -> AllOptions:
    """Return options with those that are others in `after` than in `before`, and without those that are in `before` alone."""
    first, last = _by_name(before), _by_name(after)
    found = {key: value for key, value in _by_name(options).items() if key not in first or key in last}
    found.update({key: value for key, value in last.items() if key not in first or first[key] != value})
    names = [(library.apply, [name for name, _ in library.defaults()]) for library in libraries]
    pairs = [
        (apply, tuple([(name, found[apply, name]) for name in some if (apply, name) in found])) for apply, some in names
    ]
    return tuple([(apply, some) for apply, some in pairs if some])  # in the order of `changed_options`


def _by_name(options: AllOptions) -> dict[tuple[Apply, str], Any]:
    return {(apply, name): value for apply, some in options for name, value in some}


IN_USE = OptionsInUse()
"""Those of this process."""


def _forget_in_child() -> None:
    """A task's child goes on with its options, but takes no turns: the other threads are its parent's."""
    IN_USE.__init__()  # type: ignore[misc]


os.register_at_fork(after_in_child=_forget_in_child)
