"""The route table: every path that the extension answers, below Jupyter's base URL."""

from __future__ import annotations

import asyncio
from functools import cache
from typing import NamedTuple

from jupyter_server.auth.decorator import authorized
from jupyter_server.base.handlers import JupyterHandler

from glassloom_server.base_handlers import GlassloomAPIHandler, authenticated, operation
from glassloom_server.cluster_handlers import (
    AdaptHandler,
    ClusterHandler,
    ClusterLogHandler,
    ClusterMetricsHandler,
    ClustersHandler,
    MetricsHandler,
    RenameHandler,
    RestartHandler,
    ScaleHandler,
    StartHandler,
)
from glassloom_server.openapi import openapi
from glassloom_server.other_handlers import (
    ClusterExportsHandler,
    DashboardsStatusHandler,
    DoctorHandler,
    ExportHandler,
    PagesHandler,
    ProfilesHandler,
    PrometheusHandler,
    RecordingExportsHandler,
    RecordingHandler,
    RecordingsHandler,
)
from glassloom_server.proxy import DASHBOARDS_PATH, DashboardFilesHandler, DashboardPageHandler
from glassloom_server.wire import to_json


class OpenApiHandler(GlassloomAPIHandler):
    """This API."""

    @authenticated
    @authorized
    @operation()
    async def get(self) -> None:
        """Describe it."""
        self.finish(await asyncio.to_thread(_description))


@cache
def _description() -> bytes:
    """Return this API's description, as JSON. Takes 10 ms the first time."""
    return to_json(openapi(ROUTES))


class Route(NamedTuple):
    """One row: the path as a regular expression, who answers, and a path that matches (the tests ask for it)."""

    pattern: str
    handler: type[JupyterHandler]
    example: str


ROUTES = [
    Route(r"glassloom/api/clusters", ClustersHandler, "glassloom/api/clusters"),
    Route(r"glassloom/api/clusters/([\w-]+)", ClusterHandler, "glassloom/api/clusters/c1"),
    Route(r"glassloom/api/clusters/([\w-]+)/scale", ScaleHandler, "glassloom/api/clusters/c1/scale"),
    Route(r"glassloom/api/clusters/([\w-]+)/adapt", AdaptHandler, "glassloom/api/clusters/c1/adapt"),
    Route(r"glassloom/api/clusters/([\w-]+)/restart", RestartHandler, "glassloom/api/clusters/c1/restart"),
    Route(r"glassloom/api/clusters/([\w-]+)/rename", RenameHandler, "glassloom/api/clusters/c1/rename"),
    Route(r"glassloom/api/clusters/([\w-]+)/log", ClusterLogHandler, "glassloom/api/clusters/c1/log"),
    Route(r"glassloom/api/clusters/([\w-]+)/export", ClusterExportsHandler, "glassloom/api/clusters/c1/export"),
    Route(r"glassloom/api/exports/([\w-]+)", ExportHandler, "glassloom/api/exports/e1"),
    Route(r"glassloom/api/starts/([\w-]+)", StartHandler, "glassloom/api/starts/s1"),
    Route(r"glassloom/api/profiles", ProfilesHandler, "glassloom/api/profiles"),
    Route(r"glassloom/api/recordings", RecordingsHandler, "glassloom/api/recordings"),
    Route(r"glassloom/api/doctor", DoctorHandler, "glassloom/api/doctor"),
    Route(r"glassloom/api/openapi\.json", OpenApiHandler, "glassloom/api/openapi.json"),
    Route(r"glassloom/api/dashboards", DashboardsStatusHandler, "glassloom/api/dashboards"),
    Route(r"glassloom/api/pages", PagesHandler, "glassloom/api/pages"),
    Route(r"glassloom/api/recordings/export", RecordingExportsHandler, "glassloom/api/recordings/export"),
    Route(r"glassloom/api/recordings/(recording-[\w-]+)", RecordingHandler, "glassloom/api/recordings/recording-1"),
    Route(r"glassloom/api/prometheus", PrometheusHandler, "glassloom/api/prometheus"),
    Route(r"glassloom/api/metrics", MetricsHandler, "glassloom/api/metrics"),
    Route(r"glassloom/api/metrics/([\w-]+)", ClusterMetricsHandler, "glassloom/api/metrics/c1"),
    Route(rf"{DASHBOARDS_PATH}/(health|static/.+)", DashboardFilesHandler, f"{DASHBOARDS_PATH}/health"),
    Route(rf"{DASHBOARDS_PATH}/([\w-]+)/(.+)", DashboardPageHandler, f"{DASHBOARDS_PATH}/c1/status"),
]
