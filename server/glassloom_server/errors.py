"""What can go wrong in the extension, and the one table of which HTTP status says so."""

from __future__ import annotations

import msgspec
from glassloom_metrics.errors import ClusterNotFound, CommandRefused, ConnectionRefused, RecordingError


class GlassloomServerError(Exception):
    """Base of every error that this package raises; the message is meant for the person in front of JupyterLab."""


class ClusterStartError(GlassloomServerError):
    """The process that should have become a cluster failed; the message ends with what it said."""


class RequestMalformed(GlassloomServerError):
    """The body of a request isn't what it should be."""


class KernelUnsuitable(GlassloomServerError):
    """The asked kernel doesn't exist, or has no Python to start a cluster with."""


class ProfileNotFound(GlassloomServerError):
    """There is no profile of that name."""


class NameTaken(GlassloomServerError):
    """A cluster that runs here, or is being started, has the name that a new one shall have."""


class StartNotFound(GlassloomServerError):
    """There is no start of that id, or it has become a cluster."""


class RecordingNotFound(GlassloomServerError):
    """There is no such file where recordings may lie."""


class ExportNotFound(GlassloomServerError):
    """There is no export of that id."""


class ExportFailed(GlassloomServerError):
    """The process that should have written an export failed, or took too long; the message ends with what it said."""


class DashboardsUnavailable(GlassloomServerError):
    """The dashboards process does not start, or does not answer."""


_STATUS_OF: list[tuple[type[Exception], int]] = [
    (ClusterNotFound, 404),
    (StartNotFound, 404),
    (RecordingNotFound, 404),
    (ExportNotFound, 404),
    (KernelUnsuitable, 400),
    (ProfileNotFound, 400),
    (RecordingError, 400),
    (RequestMalformed, 400),
    (msgspec.DecodeError, 502),  # what a cluster has answered
    (CommandRefused, 409),
    (NameTaken, 409),
    (ClusterStartError, 500),
    (PermissionError, 502),  # another user's process listens there
    (DashboardsUnavailable, 503),
    (ConnectionRefused, 502),
    (ConnectionError, 502),
    (FileNotFoundError, 502),  # its socket is gone: it has just ended
    (TimeoutError, 504),
]


def status_of(error: BaseException | None) -> int | None:
    """Return the HTTP status for `error`, or None if it is not one that we expect."""
    return next((status for kind, status in _STATUS_OF if isinstance(error, kind)), None)
