"""`Link`: what a client needs of the cluster behind it. Glassloom's own is a `ClusterLink`, one of dask.distributed a `RemoteLink`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from glassloom_metrics.registry import ClusterRecord

from glassloom._ownership import OwnerProcess
from glassloom.client.blocking import Operation
from glassloom.client.deadline import Deadline
from glassloom.client.key_table import Callback, KeyState
from glassloom.client.known_workers import KnownWorkers
from glassloom.graph import Graph, Key, Origin
from glassloom.protocol import messages
from glassloom.protocol.annotations import Annotations
from glassloom.protocol.coordination import Op, Outcome


class Encoder(Protocol):
    """Turns tasks into something that `Link.submit` takes."""

    def encode(self, graph: Graph, wanted: Sequence[Key], handling: Annotations) -> Any:
        """Return a graph."""

    def encode_calls(
        self,
        function: Callable[..., Any],
        keys: Sequence[Key],
        arguments: Sequence[tuple[Any, ...]],
        kwargs: Any,
        labels: dict[str, tuple[str, str]],
        handling: Annotations,
    ) -> Any:
        """Return calls of one function."""


class Placer(Protocol):
    """Puts values where a `messages.Scatter` finds them."""

    def place(self, value: Any) -> Any:
        """Return where a value is: its pickle, or something that knows its size as ``nbytes``."""


class RunNumbers(Protocol):
    """Gives runs numbers."""

    def begin(self, kind: str, origin: Origin | None = None) -> int:
        """Begin a run; return its number."""

    def of_line(self, line: str, origin: Origin | None) -> int:
        """Return the run of tasks that a line submits one by one."""


class QuickTasks(Protocol):
    """Makes tasks of calls that are submitted one by one."""

    def task(self, function: Any, args: tuple[Any, ...], key: Key | None, handling: Annotations, *, pure: bool) -> Any:
        """Return a call as a task that `Link.submit_single` takes; None if the general way has to make it."""


class Link(Protocol):
    """A connection to a cluster, with what it knows of keys. Thread-safe."""

    closed_because: str
    heard_s: float
    dashboard: str
    """Where the cluster's own dashboard is; empty if Glassloom's show it."""

    @property
    def record(self) -> ClusterRecord: ...
    def attached_record(self, timeout_s: float = 0.0) -> ClusterRecord | None: ...
    @property
    def owner(self) -> OwnerProcess: ...
    @property
    def welcome(self) -> messages.Welcome: ...
    @property
    def workers(self) -> KnownWorkers: ...
    @property
    def runs(self) -> RunNumbers: ...
    @property
    def quick_calls(self) -> QuickTasks: ...
    @property
    def holds_results(self) -> bool: ...
    @property
    def hold(self) -> Callable[[Key], KeyState]: ...
    @property
    def hold_all(self) -> Callable[[Sequence[Key]], list[KeyState]]: ...
    @property
    def let_go(self) -> Callable[[Sequence[Key], Sequence[KeyState]], None]: ...
    @property
    def holds(self) -> Callable[[Key], bool]: ...
    @property
    def attach(self) -> Callable[[Key], tuple[KeyState, bool]]: ...
    @property
    def note_scattered(self) -> Callable[..., None]: ...
    @property
    def forget_callback(self) -> Callable[..., None]: ...
    @property
    def call_user(self) -> Callable[[Callable[[], Any]], None]: ...

    def open(self) -> None: ...
    def encoder(self, place_large: Callable[[Any], Key], function_tokens: Any) -> Encoder: ...
    def placer(self, workers: Any, *, broadcast: bool) -> Placer: ...
    def fetch(self, keys: Sequence[Key], states: Sequence[KeyState], deadline: Deadline) -> Operation[list[Any]]: ...
    def submit(self, message: Any, states: Sequence[KeyState], run: int) -> None: ...
    def submit_single(self, task: Any, state: KeyState) -> None: ...
    def send(self, message: messages.FromClient, states: Sequence[KeyState] = (), *, waits: bool = True) -> None: ...
    def ask(
        self,
        make: Callable[[int], messages.FromClient],
        what: str,
        *,
        deadline: Deadline | None = None,
        waits_for_work: bool = False,
    ) -> Operation[Any]: ...
    def ask_all(self, questions: Any, deadline: Deadline) -> Operation[list[Any]]: ...
    def post_question(self, make: Callable[[int], messages.FromClient]) -> Callable[[], Any]: ...
    def negotiate(
        self, op: Op, timeout_s: float | None = None, receive: Callable[[int, Outcome], Any] | None = None
    ) -> Operation[Any]: ...
    def when_done(self, states: Sequence[KeyState], callback: Callback) -> None: ...
    def cancel(self, keys: Sequence[Key], states: Sequence[KeyState], *, force: bool) -> None: ...
    def cancel_all(self, *, force: bool) -> Operation[int]: ...
    def sent_as(self, state: KeyState) -> int: ...
    def check_open(self) -> None: ...
    def head(self) -> str: ...
    def close(self, reason: str) -> None: ...
    def close_soon(self, reason: str) -> None: ...
