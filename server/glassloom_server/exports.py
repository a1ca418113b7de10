"""`Exporter`: writes recordings in other formats, and records running clusters, by processes that run `glassloom`.

Who asked is answered at once; the state tells what becomes of it.
"""

from __future__ import annotations

import asyncio
import os
import re
import secrets
import sys
import time
from collections.abc import Callable, Sequence
from logging import Logger, LoggerAdapter
from pathlib import Path

import msgspec

from glassloom_server.child_process import run_to_end
from glassloom_server.clusters import ClusterManager
from glassloom_server.environment import minimal_environment
from glassloom_server.errors import ExportFailed, ExportNotFound, GlassloomServerError
from glassloom_server.recordings import SUFFIX, Recordings
from glassloom_server.wire import ClusterExportRequest, ExportRequest, ExportStarted, ExportState

COMMAND = (sys.executable, "-m", "glassloom")
TIMEOUT_S = 600.0
MAX_ENDED = 20
"""How many exports that have ended are told; the oldest go."""
_ENDING = {"perfetto": ".trace.json", "parquet": "-parquet", "speedscope": ".speedscope.json", "report": ".html"}
_NOT_IN_NAMES = re.compile(r"[^\w.-]+")


class Exporter:
    """Exports one thing after the other. Belongs to one event loop.

    Parameters
    ----------
    tell
        Called with all exports whenever one has changed.
    command
        Command line of ``glassloom``.
    timeout_s
        How long each process may take.
    """

    def __init__(
        self,
        *,
        recordings: Recordings,
        clusters: ClusterManager,
        tell: Callable[[tuple[ExportState, ...]], None],
        log: Logger | LoggerAdapter[Logger],
        command: Sequence[str] = COMMAND,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        self._recordings = recordings
        self._clusters = clusters
        self._tell_all = tell
        self._log = log
        self._command = list(command)
        self._timeout_s = timeout_s
        self._all: dict[str, ExportState] = {}
        self._going_on: dict[str, asyncio.Task[None]] = {}
        self._turn = asyncio.Lock()

    @property
    def all(self) -> tuple[ExportState, ...]:
        """Return those that go on or have ended, the oldest first."""
        return tuple(self._all.values())

    async def export_recording(self, request: ExportRequest) -> ExportStarted:
        """Begin to export a recording; raises `RecordingNotFound`."""
        source = await asyncio.to_thread(self._recordings.find_file, request.path)
        name = Path(source).name
        begun = ExportState(
            secrets.token_hex(6), name, request.to, "exporting", time.time(), recording=self._recordings.told(source)
        )
        return self._begin(begun, source, None)

    async def export_cluster(self, cluster_id: str, request: ClusterExportRequest) -> ExportStarted:
        """Begin to record all that a running cluster's log has, and to export that; raises `ClusterNotFound`."""
        cluster = await self._clusters.find(cluster_id)
        begun = ExportState(
            secrets.token_hex(6), cluster.name, request.to, "recording", time.time(), cluster=cluster_id
        )
        stem = _NOT_IN_NAMES.sub("-", cluster.name).strip("-.")[:60] or cluster_id
        path = os.path.join(self._recordings.home, f"{stem}-{time.strftime('%Y%m%d-%H%M%S')}{SUFFIX}")
        return self._begin(begun, path, cluster_id)

    async def dismiss(self, export_id: str) -> None:
        """Give an export up, or forget one that has ended; what it has written stays. Raises `ExportNotFound`."""
        if export_id not in self._all:
            known = ", ".join(map(repr, self._all)) or "none"
            raise ExportNotFound(f"no export {export_id!r}; there are: {known}")
        del self._all[export_id]
        self._tell()
        await self._give_up([export_id])

    async def stop(self) -> None:
        """Give up all that go on."""
        await self._give_up(list(self._going_on))

    async def _give_up(self, export_ids: list[str]) -> None:
        tasks = [task for export_id in export_ids if (task := self._going_on.get(export_id)) is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _begin(self, begun: ExportState, path: str, cluster_id: str | None) -> ExportStarted:
        self._all[begun.id] = begun
        self._tell()
        task = asyncio.create_task(self._export(begun.id, path, cluster_id), name="glassloom-export")
        self._going_on[begun.id] = task
        task.add_done_callback(lambda _: self._going_on.pop(begun.id, None))
        return ExportStarted(begun.id)

    async def _export(self, export_id: str, path: str, cluster_id: str | None) -> None:
        """Do it when its turn comes: each may take all the memory that its recording needs."""
        try:
            async with self._turn:
                if cluster_id is not None:
                    path = await self._record(export_id, path, cluster_id)
                output = await self._convert(export_id, path)
        except (GlassloomServerError, OSError) as error:
            self._log.warning("Glassloom export of %s failed: %s", path, error)
            self._change(export_id, state="failed", problem=str(error))
        else:
            self._change(export_id, state="done", output=self._recordings.told(output))

    async def _record(self, export_id: str, path: str, cluster_id: str) -> str:
        path = await asyncio.to_thread(_free_path, path, SUFFIX)
        await self._run("record", "--since-start", "--until-now", "--", cluster_id, path)
        self._change(export_id, state="exporting", recording=self._recordings.told(path))
        return path

    async def _convert(self, export_id: str, path: str) -> str:
        """Return the path of what was made of a recording."""
        to = self._all[export_id].to
        if to == "recording":
            return path
        folder = os.path.dirname(path) if self._recordings.is_in_contents(path) else self._recordings.home
        stem = os.path.basename(path).removesuffix(SUFFIX)
        output = await asyncio.to_thread(_free_path, os.path.join(folder, stem + _ENDING[to]), _ENDING[to])
        if to == "report":
            await self._run("report", "--", path, output)
        else:
            await self._run("export", f"--to={to}", f"--output={output}", "--", path)
        return output

    async def _run(self, *arguments: str) -> None:
        await run_to_end(
            [*self._command, *arguments],
            environment=minimal_environment(os.environ),
            timeout_s=self._timeout_s,
            failure=ExportFailed,
        )

    def _change(self, export_id: str, **fields: str | None) -> None:
        if export_id in self._all:
            self._all[export_id] = msgspec.structs.replace(self._all[export_id], **fields)
            self._tell()

    def _tell(self) -> None:
        ended = [each.id for each in self._all.values() if each.state in ("done", "failed")]
        for export_id in ended[:-MAX_ENDED]:
            del self._all[export_id]
        self._tell_all(self.all)


def _free_path(path: str, ending: str) -> str:
    """Return the path, with a number before its ending if it is taken: nothing that is there is replaced."""
    stem, free, number = path.removesuffix(ending), path, 2
    while os.path.lexists(free):
        free, number = f"{stem}-{number}{ending}", number + 1
    return free
