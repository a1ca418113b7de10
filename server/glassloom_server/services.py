"""The extension's long-lived parts, as one thing to hand to every handler."""

from __future__ import annotations

from dataclasses import dataclass

from glassloom_server.clusters import ClusterManager
from glassloom_server.dashboards import DashboardsProcess
from glassloom_server.doctor import Doctor
from glassloom_server.exports import Exporter
from glassloom_server.profiles import Profiles
from glassloom_server.recordings import Recordings
from glassloom_server.starting import Starter
from glassloom_server.watch import ClusterWatch


@dataclass(frozen=True)
class Services:
    """Made once when Jupyter starts."""

    clusters: ClusterManager
    watch: ClusterWatch
    starter: Starter
    profiles: Profiles
    recordings: Recordings
    exporter: Exporter
    dashboards: DashboardsProcess
    doctor: Doctor
