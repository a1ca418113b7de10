"""Recordings, profiles, pages, the dashboards process, Prometheus: each verb checks who asks, and calls one method."""

from __future__ import annotations

from glassloom_metrics.pages import PAGES, Page
from glassloom_metrics.prometheus import EXPOSITION_TYPE
from jupyter_server.auth.decorator import authorized
from msgspec import Struct

from glassloom_server.base_handlers import GlassloomAPIHandler, authenticated, operation
from glassloom_server.dashboards import DashboardsStatus
from glassloom_server.doctor import Examination
from glassloom_server.profiles import ProfileList
from glassloom_server.wire import (
    ClusterExportRequest,
    ExportRequest,
    ExportStarted,
    Opened,
    OpenRequest,
    RecordingFiles,
)


class PageList(Struct, frozen=True):
    """The dashboard pages that every cluster has."""

    pages: list[Page]


class RecordingsHandler(GlassloomAPIHandler):
    """The recordings that there are."""

    @authenticated
    @authorized
    @operation(response=RecordingFiles)
    async def get(self) -> None:
        """List the files, the newest first."""
        self.answer(await self.services.recordings.list())

    @authenticated
    @authorized
    @operation(status=201, request=OpenRequest, response=Opened)
    async def post(self) -> None:
        """Let the dashboards show one."""
        self.answer(await self.services.recordings.open(self.body(OpenRequest).path), 201)


class RecordingHandler(GlassloomAPIHandler):
    """One recording that the dashboards show."""

    @authenticated
    @authorized
    @operation(status=204)
    async def delete(self, recording_id: str) -> None:
        """Close it: its file stays."""
        await self.services.recordings.close(recording_id)
        self.answer_nothing()


class RecordingExportsHandler(GlassloomAPIHandler):
    """Recordings in other formats."""

    @authenticated
    @authorized
    @operation(status=202, request=ExportRequest, response=ExportStarted)
    async def post(self) -> None:
        """Begin to write one; the state tells what becomes of it."""
        self.answer(await self.services.exporter.export_recording(self.body(ExportRequest)), 202)


class ClusterExportsHandler(GlassloomAPIHandler):
    """What a running cluster's log has, as a recording and in other formats."""

    @authenticated
    @authorized
    @operation(status=202, request=ClusterExportRequest, response=ExportStarted)
    async def post(self, cluster_id: str) -> None:
        """Begin to record it and to write that; the state tells what becomes of it."""
        request = self.body(ClusterExportRequest)
        self.answer(await self.services.exporter.export_cluster(cluster_id, request), 202)


class ExportHandler(GlassloomAPIHandler):
    """One export that was asked for."""

    @authenticated
    @authorized
    @operation(status=204)
    async def delete(self, export_id: str) -> None:
        """Give it up if it goes on, dismiss it if it has ended: what was written stays."""
        await self.services.exporter.dismiss(export_id)
        self.answer_nothing()


class ProfilesHandler(GlassloomAPIHandler):
    """What a new cluster can be."""

    @authenticated
    @authorized
    @operation(response=ProfileList)
    async def get(self) -> None:
        """Return the form's schema, the named profiles and the kernels."""
        self.answer(await self.services.profiles.describe())


class PagesHandler(GlassloomAPIHandler):
    """The dashboard pages that every cluster has."""

    @authenticated
    @authorized
    @operation(response=PageList)
    async def get(self) -> None:
        """List them."""
        self.answer(PageList(PAGES))


class DashboardsStatusHandler(GlassloomAPIHandler):
    """The dashboards process: whether it runs and answers, and its log."""

    @authenticated
    @authorized
    @operation(response=DashboardsStatus)
    async def get(self) -> None:
        """Describe it; starts nothing."""
        self.answer(await self.services.dashboards.status())


class DoctorHandler(GlassloomAPIHandler):
    """What is between a cluster and the browser."""

    @authenticated
    @authorized
    @operation(
        response=Examination,
        query={"cluster": "the id of the cluster or open recording; the newest cluster if not given"},
    )
    async def get(self) -> None:
        """Walk the hops, and name those that are broken."""
        self.answer(await self.services.doctor.examine(self.get_query_argument("cluster", None)))


class PrometheusHandler(GlassloomAPIHandler):
    """The numbers of all clusters for Prometheus."""

    @authenticated
    @authorized("read")
    @operation()
    async def get(self) -> None:
        """Write them in its text format."""
        self.finish(await self.services.watch.exposition(), set_content_type=EXPOSITION_TYPE)

    def update_api_activity(self) -> None:
        """Do nothing: being read every few seconds doesn't keep an idle server alive."""
