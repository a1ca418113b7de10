"""What all handlers share: who is let in, how errors are answered, what each verb takes and gives."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from http.client import responses as HTTP_REASONS
from typing import Any, TypeVar

import msgspec
import tornado.web
from glassloom_metrics.errors import MetricsError
from jupyter_server.auth.decorator import authorized, ws_authenticated
from jupyter_server.base.handlers import APIHandler, JupyterHandler
from jupyter_server.base.websocket import WebSocketMixin
from tornado.websocket import WebSocketClosedError, WebSocketHandler

from glassloom_server.errors import KernelUnsuitable, NameTaken, ProfileNotFound, RequestMalformed, status_of
from glassloom_server.services import Services
from glassloom_server.wire import Problem, decode, field_of, to_json

AUTH_RESOURCE = "glassloom"
Verb = TypeVar("Verb", bound=Callable[..., Any])
Body = TypeVar("Body", bound=msgspec.Struct)


@dataclass(frozen=True)
class Operation:
    """What a verb of a route takes and gives, for `openapi`.

    ``request`` and ``response`` are types of bodies; None: there is none, or none in JSON. ``query`` has a sentence for each
    parameter.
    """

    status: int = 200
    request: type | None = None
    response: type | None = None
    query: dict[str, str] | None = None


def operation(**values: Any) -> Callable[[Verb], Verb]:
    """Note on a verb what it takes and gives: see `Operation`."""

    def note(verb: Verb) -> Verb:
        verb.operation = Operation(**values)  # type: ignore[attr-defined]
        return verb

    return note


class ExpectedErrors:
    """Mixin that answers errors of the table in `errors` with their status and message, and without a traceback in the log."""

    def send_error(self, status_code: int = 500, **kwargs: Any) -> None:
        """Answer with the status that the table has for the exception, if it is in there."""
        error = kwargs.get("exc_info", (None, None))[1]
        super().send_error(status_of(error) or status_code, **kwargs)  # type: ignore[misc]

    def log_exception(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        """Log what isn't expected; of what is, the request's own line in Jupyter's log has the status."""
        if status_of(error) is None:
            super().log_exception(kind, error, traceback)  # type: ignore[misc]


class GlassloomAPIHandler(ExpectedErrors, APIHandler):
    """What all REST handlers share."""

    auth_resource = AUTH_RESOURCE

    def initialize(self, services: Services) -> None:
        """Take what the route table hands over."""
        self.services = services

    def body(self, kind: type[Body]) -> Body:
        """Return the request's body; raises `RequestMalformed`."""
        return decode(self.request.body, kind)

    def number(self, name: str, default: int) -> int:
        """Return a whole number of the query; raises `RequestMalformed`."""
        text = self.get_query_argument(name, str(default))
        if not text.isdecimal() or len(text) > 9:
            raise RequestMalformed(f"{name}={text!r} should be a whole number, 0 or more")
        return int(text)

    def answer(self, value: Any, status: int = 200) -> None:
        """Finish with a value as JSON."""
        self.set_status(status)
        self.finish(to_json(value))

    def answer_nothing(self) -> None:
        """Finish with no content: it was done."""
        self.set_status(204)
        self.finish()

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        """Write the message of an expected error as JSON; of any other, what Jupyter does."""
        error = kwargs.get("exc_info", (None, None))[1]
        if status_of(error) is None:
            super().write_error(status_code, **kwargs)
        else:
            self.finish(to_json(Problem(str(error), type(error).__name__, _field_of(error))))


def _field_of(error: BaseException | None) -> str:
    """Return the field of the request that an error is about; nothing if it is about none."""
    match error:
        case KernelUnsuitable():
            return "kernel_name"
        case ProfileNotFound():
            return "profile"
        case RequestMalformed() | NameTaken():
            return field_of(str(error))
    return ""


class StreamHandler(ExpectedErrors, WebSocketMixin, WebSocketHandler, JupyterHandler):
    """What all WebSockets share: they send what `messages` yields, and take nothing."""

    auth_resource = AUTH_RESOURCE
    binary = False

    def initialize(self, services: Services) -> None:
        """Take what the route table hands over."""
        self.services = services
        self._sending: asyncio.Task[None] | None = None

    @ws_authenticated
    @authorized("read")
    async def get(self, *args: str) -> None:  # type: ignore[override]
        """Check that there is something to send, then upgrade the connection."""
        await self.check(*args)
        await super().get(*args)

    async def check(self, *args: str) -> None:
        """Raise if what is asked for does not exist."""

    def messages(self, *args: str) -> AsyncIterator[bytes]:
        """Yield what is to be sent."""
        raise NotImplementedError

    def open(self, *args: str) -> None:
        """Begin to send."""
        super().open(*args)
        self._sending = asyncio.ensure_future(self._send(*args))

    async def _send(self, *args: str) -> None:
        # Either end may go away at any moment; then there is nobody left to tell.
        with contextlib.suppress(WebSocketClosedError, MetricsError, OSError):
            async with contextlib.aclosing(self.messages(*args)) as messages:  # type: ignore[type-var]
                async for message in messages:
                    await self.write_message(message, binary=self.binary)
        self.close()

    def on_message(self, message: str | bytes) -> None:
        """Ignore what the browser sends."""

    def on_close(self) -> None:
        """Stop sending."""
        if self._sending is not None:
            self._sending.cancel()

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        """Refuse the upgrade in one line."""
        error = kwargs.get("exc_info", (None, None))[1]
        self.set_header("Content-Type", "text/plain")
        self.finish(str(error) if status_of(error) else HTTP_REASONS.get(status_code, ""))


authenticated = tornado.web.authenticated
