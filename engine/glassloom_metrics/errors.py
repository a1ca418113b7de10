"""What can go wrong between a cluster and whoever watches it."""

from __future__ import annotations


class MetricsError(Exception):
    """Base of every error that this package raises."""


class ClusterNotFound(MetricsError, LookupError):
    """No running cluster has the asked name or id."""


class ClusterAmbiguous(ClusterNotFound):
    """Several running clusters have the asked name; an id tells them apart."""


class ConnectionRefused(MetricsError, ConnectionError):
    """The cluster answered, but does not let this connection in (wrong secret, other protocol version)."""


class CommandRefused(MetricsError):
    """The cluster can't do what it was asked for."""


class RecordingError(MetricsError, ValueError):
    """A recording file is damaged or of another version."""
