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


class OtherVersion(ConnectionRefused):
    """The cluster speaks another version of the metrics protocol than this Glassloom reads.

    ``engine`` is the cluster's Glassloom, if it said.
    """

    def __init__(self, name: str, cluster_version: int, reader_version: int, engine: str = "") -> None:
        older = "the cluster's environment" if cluster_version < reader_version else "the environment of the dashboards"
        super().__init__(
            f"cluster {name!r}{f' (Glassloom {engine})' if engine else ''} speaks version {cluster_version} of the metrics protocol; this Glassloom reads "
            f"{reader_version}: upgrade Glassloom in {older}"
        )
        self.cluster_version = cluster_version
        self.reader_version = reader_version


class CommandRefused(MetricsError):
    """The cluster can't do what it was asked for."""


class RecordingError(MetricsError, ValueError):
    """A file is no recording, or one of another version."""
