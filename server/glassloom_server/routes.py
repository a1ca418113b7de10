"""The route table: every path that the extension answers, below Jupyter's base URL."""

from __future__ import annotations

from typing import NamedTuple

from jupyter_server.base.handlers import JupyterHandler

from glassloom_server.handlers import (
    ClusterHandler,
    ClusterMetricsHandler,
    ClustersHandler,
    DashboardsStatusHandler,
    MetricsHandler,
    PagesHandler,
    PrometheusHandler,
    RecordingHandler,
)
from glassloom_server.proxy import DASHBOARDS_PATH, DashboardFilesHandler, DashboardPageHandler


class Route(NamedTuple):
    """One row: the path as a regular expression, who answers, and a path that matches (the tests ask for it)."""

    pattern: str
    handler: type[JupyterHandler]
    example: str


ROUTES = [
    Route(r"glassloom/api/clusters", ClustersHandler, "glassloom/api/clusters"),
    Route(r"glassloom/api/clusters/([\w-]+)", ClusterHandler, "glassloom/api/clusters/c1"),
    Route(r"glassloom/api/dashboards", DashboardsStatusHandler, "glassloom/api/dashboards"),
    Route(r"glassloom/api/pages", PagesHandler, "glassloom/api/pages"),
    Route(r"glassloom/api/recordings/([\w-]+)", RecordingHandler, "glassloom/api/recordings/recording-1"),
    Route(r"glassloom/api/prometheus", PrometheusHandler, "glassloom/api/prometheus"),
    Route(r"glassloom/api/metrics", MetricsHandler, "glassloom/api/metrics"),
    Route(r"glassloom/api/metrics/([\w-]+)", ClusterMetricsHandler, "glassloom/api/metrics/c1"),
    Route(rf"{DASHBOARDS_PATH}/(health|static/.+)", DashboardFilesHandler, f"{DASHBOARDS_PATH}/health"),
    Route(rf"{DASHBOARDS_PATH}/([\w-]+)/(.+)", DashboardPageHandler, f"{DASHBOARDS_PATH}/c1/status"),
]
