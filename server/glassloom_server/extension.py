"""Puts the extension's parts together when Jupyter starts, and ends them when it stops."""

from __future__ import annotations

import math
from typing import Any

from glassloom_metrics.pages import MAX_OPEN_PAGES
from jupyter_server.extension.application import ExtensionApp
from jupyter_server.utils import url_path_join
from traitlets import Dict, Float, Int, List, TraitError, Unicode, validate

from glassloom_server.clusters import COMMAND_TIMEOUT_S, ClusterManager
from glassloom_server.dashboards import COMMAND, IDLE_S, SILENCE_S, DashboardsProcess
from glassloom_server.dashboards import START_TIMEOUT_S as DASHBOARDS_START_TIMEOUT_S
from glassloom_server.doctor import Doctor
from glassloom_server.exports import COMMAND as EXPORT_COMMAND
from glassloom_server.exports import TIMEOUT_S as EXPORT_TIMEOUT_S
from glassloom_server.exports import Exporter
from glassloom_server.launcher import START_TIMEOUT_S, KernelInterpreters
from glassloom_server.notebooks import Notebooks
from glassloom_server.profiles import Profiles
from glassloom_server.proxy import DASHBOARDS_PATH
from glassloom_server.recordings import Recordings
from glassloom_server.routes import ROUTES
from glassloom_server.services import Services
from glassloom_server.starting import Starter
from glassloom_server.watch import ClusterWatch


class GlassloomServer(ExtensionApp):
    """The extension as Jupyter sees it."""

    name = "glassloom_server"
    load_other_extensions = True

    dashboards_command = List(
        Unicode(),
        default_value=list(COMMAND),
        help="Command line of the dashboards process; --unix-socket, --prefix and --max-pages are added to it.",
    ).tag(config=True)

    dashboards_start_timeout_s = Float(
        DASHBOARDS_START_TIMEOUT_S, help="Seconds that the dashboards process may take to start."
    ).tag(config=True)
    dashboards_silence_s = Float(
        SILENCE_S, help="Seconds without an answer after which the dashboards process is killed, to be started again."
    ).tag(config=True)

    dashboards_idle_s = Float(
        IDLE_S,
        help="Seconds without an open page after which the dashboards process is ended; the next page starts it again.",
    ).tag(config=True)
    dashboards_max_pages = Int(
        MAX_OPEN_PAGES, help="How many dashboard pages may be open at once; who opens another is told which are."
    ).tag(config=True)

    profiles = List(
        Dict(),
        help="Named profiles of new clusters: each a mapping with name, title, description and values, which has any of "
        "n_workers, threads_per_worker, memory_limit, minimum, maximum, idle_timeout and kernel_name.",
    ).tag(config=True)
    start_timeout_s = Float(START_TIMEOUT_S, help="Seconds that a new cluster may take to start.").tag(config=True)
    command_timeout_s = Float(
        COMMAND_TIMEOUT_S, help="Seconds that a cluster may take to answer, such as when it is scaled."
    ).tag(config=True)
    recordings_dir = Unicode(
        "", help="Where else there are recordings (.glr) to list, besides the folders below the server's root."
    ).tag(config=True)

    export_command = List(
        Unicode(),
        default_value=list(EXPORT_COMMAND),
        help="Command line of glassloom, which writes recordings in other formats.",
    ).tag(config=True)
    export_timeout_s = Float(
        EXPORT_TIMEOUT_S,
        help="Seconds that an export of a recording may take, and the recording of a cluster before it.",
    ).tag(config=True)

    @validate(
        "dashboards_start_timeout_s",
        "dashboards_silence_s",
        "dashboards_idle_s",
        "start_timeout_s",
        "command_timeout_s",
        "export_timeout_s",
    )
    def _check_seconds(self, proposal: Any) -> float:
        seconds: float = proposal["value"]
        if not 0 < seconds < math.inf:
            raise TraitError(
                f"GlassloomServer.{proposal['trait'].name}={seconds!r} should be a number of seconds, more than 0"
            )
        return seconds

    @validate("dashboards_max_pages")
    def _check_number(self, proposal: Any) -> int:
        number: int = proposal["value"]
        if number < 1:
            raise TraitError(f"GlassloomServer.dashboards_max_pages={number} should be 1 or more")
        return number

    @validate("dashboards_command", "export_command")
    def _check_command(self, proposal: Any) -> list[str]:
        command: list[str] = proposal["value"]
        if not command:
            name = proposal["trait"].name
            raise TraitError(f"GlassloomServer.{name}=[] should be a program and its arguments, as a list")
        return command

    @validate("recordings_dir")
    def _check_folder(self, proposal: Any) -> str:
        folder: str = proposal["value"]
        if "\0" in folder:
            raise TraitError(f"GlassloomServer.recordings_dir={folder!r} should be the path of a folder")
        return folder

    def initialize_handlers(self) -> None:
        """Build the managers and add every row of the route table."""
        assert self.serverapp is not None, "Jupyter links the extension before it initialises it"
        settings = self.serverapp.web_app.settings
        root, specs = self.serverapp.root_dir, settings["kernel_spec_manager"]
        profiles = Profiles(self.profiles, specs=specs, log=self.log)
        dashboards = DashboardsProcess(
            prefix=url_path_join(settings["base_url"], DASHBOARDS_PATH),
            log=self.log,
            command=self.dashboards_command,
            start_timeout_s=self.dashboards_start_timeout_s,
            silence_s=self.dashboards_silence_s,
            idle_s=self.dashboards_idle_s,
            max_pages=self.dashboards_max_pages,
        )
        watch = ClusterWatch(
            log=self.log,
            root=root,
            notebooks=Notebooks(settings["session_manager"], log=self.log),
            dashboards_pid=lambda: dashboards.pid,
        )
        clusters = ClusterManager(log=self.log, command_timeout_s=self.command_timeout_s)
        recordings = Recordings(root=root, directory=self.recordings_dir)
        self.services = Services(
            clusters=clusters,
            watch=watch,
            starter=Starter(
                profiles=profiles,
                interpreters=KernelInterpreters(
                    specs=specs, default_kernel_name=settings["kernel_manager"].default_kernel_name
                ),
                watch=watch,
                directory=root,
                log=self.log,
                timeout_s=self.start_timeout_s,
            ),
            profiles=profiles,
            recordings=recordings,
            exporter=Exporter(
                recordings=recordings,
                clusters=clusters,
                tell=watch.note_exports,
                log=self.log,
                command=self.export_command,
                timeout_s=self.export_timeout_s,
            ),
            dashboards=dashboards,
            doctor=Doctor(kernels=settings["kernel_manager"], watch=watch, dashboards=dashboards),
        )
        self.handlers.extend((route.pattern, route.handler, {"services": self.services}) for route in ROUTES)

    async def stop_extension(self) -> None:
        """End what the extension started; clusters go on."""
        await self.services.starter.stop()
        await self.services.exporter.stop()
        await self.services.recordings.stop()
        await self.services.dashboards.stop()
        await self.services.watch.stop()
