"""Who is let in: the Jupyter server by a secret header, or a browser by the token in the URL that we printed.

The gate is asked before any route is looked up, so that nothing is open: pages, static files, WebSocket upgrades, 404s.
"""

from __future__ import annotations

import hmac
import secrets
from typing import Protocol
from urllib.parse import parse_qsl, urlencode

from tornado.httputil import HTTPServerRequest, parse_cookie

SECRET_HEADER = "X-Glassloom-Secret"
SECRET_VARIABLE = "GLASSLOOM_DASH_SECRET"


class Gate(Protocol):
    """Decides about one request."""

    def lets_in(self, request: HTTPServerRequest) -> bool:
        """Tell whether the request is answered."""

    def entry(self, request: HTTPServerRequest) -> tuple[str, str] | None:
        """Return (URL to go to, cookie to set) for a request that brings a valid token, else None."""


class SecretGate:
    """Lets in whoever sends the secret in the header `SECRET_HEADER`."""

    def __init__(self, secret: str) -> None:
        if not secret:
            raise ValueError(f"the secret in {SECRET_VARIABLE} is empty")
        self._secret = secret.encode()

    def lets_in(self, request: HTTPServerRequest) -> bool:
        """Tell whether the request carries the secret."""
        sent = request.headers.get_list(SECRET_HEADER)
        return len(sent) == 1 and hmac.compare_digest(sent[0].encode(), self._secret)

    def entry(self, request: HTTPServerRequest) -> None:
        """Return None: there is no other way in."""


class TokenGate:
    """Lets in the browser that opened the URL with the token; it gets a cookie, and the token leaves the address bar.

    Parameters
    ----------
    token
        What must follow ``?token=``.
    name
        Part of the cookie's name, such as the port: cookies don't tell ports apart.
    """

    def __init__(self, token: str, name: str) -> None:
        self._token = token.encode()
        self._cookie = f"glassloom-dash-{name}"
        self._session = secrets.token_urlsafe(32)

    def lets_in(self, request: HTTPServerRequest) -> bool:
        """Tell whether the request carries the cookie."""
        sent = parse_cookie(request.headers.get("Cookie", "")).get(self._cookie, "")
        return hmac.compare_digest(sent.encode(), self._session.encode())

    def entry(self, request: HTTPServerRequest) -> tuple[str, str] | None:
        """Return where to go on and the cookie, if the request's query has the token."""
        query = parse_qsl(request.query, keep_blank_values=True)
        sent = [value for name, value in query if name == "token"]
        if request.method != "GET" or len(sent) != 1 or not hmac.compare_digest(sent[0].encode(), self._token):
            return None
        rest = urlencode([pair for pair in query if pair[0] != "token"])
        path = "/" + request.path.lstrip("/")
        # Lax, because a link to us may be clicked in a notebook, which is another site.
        cookie = f"{self._cookie}={self._session}; Path=/; HttpOnly; SameSite=Lax"
        return f"{path}?{rest}" if rest else path, cookie
