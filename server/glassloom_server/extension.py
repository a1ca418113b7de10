"""Puts the extension's parts together when Jupyter starts, and ends them when it stops."""

from __future__ import annotations

from jupyter_server.extension.application import ExtensionApp
from jupyter_server.utils import url_path_join
from traitlets import Float, List, Unicode

from glassloom_server.clusters import ClusterManager
from glassloom_server.dashboards import COMMAND, SILENCE_S, START_TIMEOUT_S, DashboardsProcess
from glassloom_server.launcher import KernelInterpreters
from glassloom_server.proxy import DASHBOARDS_PATH
from glassloom_server.routes import ROUTES
from glassloom_server.services import Services
from glassloom_server.watch import ClusterWatch


class GlassloomServer(ExtensionApp):
    """The extension as Jupyter sees it."""

    name = "glassloom_server"
    load_other_extensions = True

    dashboards_command = List(
        Unicode(),
        default_value=list(COMMAND),
        help="Command line of the dashboards process; --unix-socket and --prefix are added to it.",
    ).tag(config=True)

    dashboards_start_timeout_s = Float(
        START_TIMEOUT_S, help="Seconds that the dashboards process may take to start."
    ).tag(config=True)
    dashboards_silence_s = Float(
        SILENCE_S, help="Seconds without an answer after which the dashboards process is killed, to be started again."
    ).tag(config=True)

    def initialize_handlers(self) -> None:
        """Build the managers and add every row of the route table."""
        assert self.serverapp is not None, "Jupyter links the extension before it initialises it"
        settings = self.serverapp.web_app.settings
        watch = ClusterWatch(log=self.log)
        self.services = Services(
            clusters=ClusterManager(
                watch=watch,
                interpreters=KernelInterpreters(
                    specs=settings["kernel_spec_manager"],
                    default_kernel_name=settings["kernel_manager"].default_kernel_name,
                ),
                working_directory=self.serverapp.root_dir,
                log=self.log,
            ),
            watch=watch,
            dashboards=DashboardsProcess(
                prefix=url_path_join(settings["base_url"], DASHBOARDS_PATH),
                log=self.log,
                command=self.dashboards_command,
                start_timeout_s=self.dashboards_start_timeout_s,
                silence_s=self.dashboards_silence_s,
            ),
        )
        self.handlers.extend((route.pattern, route.handler, {"services": self.services}) for route in ROUTES)

    async def stop_extension(self) -> None:
        """End what the extension started; clusters go on."""
        await self.services.dashboards.stop()
        await self.services.watch.stop()
