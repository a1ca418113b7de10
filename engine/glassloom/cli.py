"""The ``glassloom`` command: clusters from the shell, the dashboards alone, JupyterLab with everything."""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import shlex
import signal
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from glassloom_metrics.errors import MetricsError
from glassloom_metrics.recording import hello_of
from glassloom_metrics.registry import find_record

from glassloom import config
from glassloom.cluster import LocalCluster, LocalCUDACluster, commands
from glassloom.cluster.cuda_devices import CPU_ALTERNATIVE
from glassloom.cluster.doctor_report import doctor_report
from glassloom.cluster.options import checked_bounds
from glassloom.distributed.optional import load
from glassloom.errors import DeviceNotFound, GlassloomError, OptionError
from glassloom.recordings.cluster_recording import start_recording
from glassloom.recordings.replay import dashboards_command
from glassloom.recordings.report import make_report
from glassloom.units import format_bytes, parse_seconds


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status. Errors go to stderr as one line."""
    parser = _parser()
    options, unknown = parser.parse_known_args(arguments)
    if unknown:
        options.parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    try:
        status: int = options.run(options)
    except (GlassloomError, MetricsError, OSError) as error:
        print(f"glassloom: {_in_shell_words(error)}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return status


def _in_shell_words(error: Exception) -> str:
    """Return an error's message; what Python writes as None is the word ``none`` in a shell and in the panel's form."""
    text = str(error)
    return text.replace(" or None", " or 'none'") if isinstance(error, OptionError) else text


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="glassloom", description="Parallel NumPy and pandas, with every thread in view."
    )
    parser.add_argument("--version", action="version", version=f"glassloom {importlib.metadata.version('glassloom')}")
    parser.set_defaults(run=_help, parser=parser)
    commands = parser.add_subparsers(metavar="COMMAND")

    lab = commands.add_parser("lab", help="open JupyterLab; further arguments go to it")
    lab.add_argument("arguments", nargs=argparse.REMAINDER)
    lab.set_defaults(run=_lab, parser=lab)

    dashboard = commands.add_parser("dashboard", help="serve the dashboards alone, on this machine, with a token")
    dashboard.add_argument("--port", type=int, default=0, help="port on 127.0.0.1; default any that is free")
    dashboard.set_defaults(run=_dashboard, parser=dashboard)

    _add_recording_commands(commands)
    _add_attach(commands)

    doctor = commands.add_parser("doctor", help="look for what is broken between a cluster and the panel")
    doctor.add_argument("cluster", nargs="?", metavar="CLUSTER", help="its name or id; default the newest")
    doctor.set_defaults(run=_doctor, parser=doctor)

    options = commands.add_parser("config", help="show every option, what it is set to and where")
    options.add_argument("name", nargs="?", help="one option only, such as array.chunk-size")
    options.set_defaults(run=_config, parser=options)

    cluster = commands.add_parser("cluster", help="list, start and stop clusters")
    cluster.set_defaults(run=_help, parser=cluster)
    _add_cluster_actions(cluster.add_subparsers(metavar="ACTION"))
    return parser


def _add_attach(commands: Any) -> None:
    """Add what shows clusters of dask.distributed."""
    attach = commands.add_parser(
        "attach", help="show a cluster of dask.distributed in panel and dashboards, until Ctrl-C or its end"
    )
    attach.add_argument("address", metavar="ADDRESS", help="of its scheduler, such as tcp://scheduler:8786")
    attach.add_argument("--name", help="what it is called; default its address")
    for option in ("ca-file", "cert", "key"):
        attach.add_argument(f"--tls-{option}", metavar="FILE", help="for tls://; default as in Dask's configuration")
    attach.add_argument("--json", action="store_true", help="print its id and name as JSON, for programs")
    attach.add_argument("--for-clients", action="store_true", help=argparse.SUPPRESS)
    attach.set_defaults(run=_attach, parser=attach)


def _add_recording_commands(commands: Any) -> None:
    """Add what the command can do with recordings."""
    record = commands.add_parser("record", help="record a cluster to a file, until Ctrl-C or its end")
    record.add_argument("cluster", metavar="CLUSTER", help="its name or id")
    record.add_argument("path", metavar="FILE", help="such as run.glr")
    record.add_argument("--since-start", action="store_true", help="record all that its log still has, too")
    record.add_argument("--until-now", action="store_true", help="end once what has happened until now is in the file")
    record.add_argument("--overwrite", action="store_true", help="replace a file that is there")
    record.set_defaults(run=_record, parser=record)

    replay = commands.add_parser("replay", help="serve the dashboards of a recording, on this machine, with a token")
    replay.add_argument("path", metavar="FILE", help="such as run.glr")
    replay.add_argument("--port", type=int, default=0, help="port on 127.0.0.1; default any that is free")
    replay.set_defaults(run=_replay, parser=replay)

    report = commands.add_parser("report", help="write a recording's numbers and plots to one HTML file")
    report.add_argument("path", metavar="FILE", help="such as run.glr")
    report.add_argument("report", metavar="REPORT", help="such as report.html; a file that is there is replaced")
    report.set_defaults(run=_report, parser=report)

    export = commands.add_parser("export", help="write a recording in the format of another tool")
    export.add_argument("path", metavar="FILE", help="such as run.glr")
    export.add_argument(
        "--to",
        required=True,
        choices=["parquet", "perfetto", "speedscope"],
        help="Parquet files in a folder, a Chrome trace for ui.perfetto.dev, or the profile for www.speedscope.app",
    )
    export.add_argument("--output", metavar="PATH", help="default beside the recording")
    export.add_argument("--overwrite", action="store_true", help="replace what is there")
    export.set_defaults(run=_export, parser=export)


def _add_cluster_actions(cluster: Any) -> None:
    """Add what ``glassloom cluster`` can do."""
    start = cluster.add_parser("start", help="start a cluster")
    start.add_argument("--name")
    start.add_argument("--gpu", action="store_true", help="one worker for each NVIDIA GPU: a LocalCUDACluster")
    start.add_argument("--n-workers", type=int)
    start.add_argument("--threads-per-worker", type=int)
    start.add_argument("--memory-limit", help="of each worker, such as 4GB; 'none' for no limit")
    start.add_argument("--local-directory", help="where results are spilled")
    start.add_argument("--minimum", type=int, help="let the number of workers follow the work, from this many")
    start.add_argument("--maximum", type=int, help="to this many; default the number of CPUs")
    start.add_argument("--idle-timeout", help="end when idle for so long, such as '30 min'; 'none' for never")
    start.add_argument(
        "--factory", metavar="CLASS", help="a cluster of Dask's instead, such as distributed.LocalCluster"
    )
    start.add_argument("--args", metavar="JSON", help="what the factory is called with: a list")
    start.add_argument("--kwargs", metavar="JSON", help="what the factory is called with: a map")
    start.add_argument("--detach", action="store_true", help="return at once; the cluster runs until it is stopped")
    start.add_argument("--json", action="store_true", help="print its id and name as JSON, for programs")
    start.add_argument("--started-by", default="script", choices=["script", "panel"])
    start.set_defaults(run=_start, parser=start)
    stop = cluster.add_parser("stop", help="end clusters; returns when they have ended")
    stop.add_argument("clusters", nargs="*", metavar="CLUSTER", help="its name or id")
    stop.add_argument("--all", action="store_true", help="end all of this user's clusters on this host")
    stop.add_argument("--timeout", default="10 s", help="how long each may take to end, such as '1 min'")
    stop.add_argument("--force", action="store_true", help="kill it instead of asking it to end")
    stop.set_defaults(run=_stop, parser=stop)
    listing = cluster.add_parser("list", help="list this user's clusters")
    listing.add_argument("--json", action="store_true", help="print them as JSON, for programs")
    listing.set_defaults(run=_list, parser=listing)


def _help(options: argparse.Namespace) -> int:
    """Show the commands to a person who gave none."""
    options.parser.print_help(sys.stderr)
    return 2


def _lab(options: argparse.Namespace) -> int:
    return subprocess.call([sys.executable, "-m", "jupyterlab", *options.arguments])


def _dashboard(options: argparse.Namespace) -> int:
    return _serve_dashboards("--port", str(options.port))


def _replay(options: argparse.Namespace) -> int:
    hello_of(options.path)  # raises what is wrong with the file
    return _serve_dashboards("--port", str(options.port), "--recording", options.path)


def _serve_dashboards(*arguments: str) -> int:
    """Run the dashboards until they or this process ends, also by a signal that this process doesn't survive."""
    return subprocess.call([*dashboards_command(), "--end-with-parent", *arguments])


def _record(options: argparse.Namespace) -> int:
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends the recording as Ctrl-C does
    record = find_record(options.cluster)
    recording = start_recording(
        record, options.path, since_start=options.since_start, overwrite=options.overwrite, warns=False
    )
    try:
        if options.until_now:
            recording.stop()
        else:  # who reads this may send the signal before it is said to the end
            print(f"Recording cluster {record.name!r} to {recording.path}. To end it: Ctrl-C", flush=True)
        recording.wait()
    except KeyboardInterrupt:
        recording.stop()
    print(f"Recorded {format_bytes(recording.nbytes)}. To see it: glassloom replay {shlex.quote(options.path)}")
    if recording.problem:
        print(f"glassloom: {recording.problem}", file=sys.stderr)
        return 1
    return 0


def _report(options: argparse.Namespace) -> int:
    make_report(options.path, options.report)
    return 0


def _export(options: argparse.Namespace) -> int:
    from glassloom.recordings.export import export  # it needs pyarrow, which is slow to import

    target, damage = export(options.path, options.to, options.output, overwrite=options.overwrite)
    if damage:
        print(f"glassloom: {damage}; what can be read is exported", file=sys.stderr)
    print(f"Exported to {target}")
    return 0


def _doctor(options: argparse.Namespace) -> int:
    report, is_well = doctor_report(options.cluster)
    print(report)
    return 0 if is_well else 1


def _config(options: argparse.Namespace) -> int:
    print(repr(config.describe(options.name)))
    return 0


def _attach(options: argparse.Namespace) -> int:
    status: int = load("attach_command", "glassloom attach").attach(
        options.address,
        name=options.name,
        tls={
            "tls_ca_file": options.tls_ca_file,
            "tls_client_cert": options.tls_cert,
            "tls_client_key": options.tls_key,
        },
        as_json=options.json,
        for_clients=options.for_clients,
    )
    return status


def _start_by_factory(options: argparse.Namespace) -> int:
    unfit = [
        name
        for name in ("threads_per_worker", "memory_limit", "local_directory", "idle_timeout")
        if getattr(options, name)
    ]
    if unfit or options.gpu:
        name = (unfit or ["gpu"])[0]
        raise OptionError(
            f"{name}={getattr(options, name)!r} isn't what {options.factory} is given by this name: leave it empty, and put "
            "what that class takes into the factory's kwargs"
        )
    words = [word for word in sys.argv[1:] if word != "--detach"]
    status: int = load("factory_cluster", "--factory").start(
        options.factory,
        options.args,
        options.kwargs,
        name=options.name,
        n_workers=options.n_workers,
        minimum=options.minimum,
        maximum=options.maximum,
        started_by=options.started_by,
        as_json=options.json,
        command=[sys.executable, "-m", "glassloom", *words] if options.detach else None,
    )
    return status


def _start(options: argparse.Namespace) -> int:
    if options.factory is not None:
        return _start_by_factory(options)
    names = ("n_workers", "threads_per_worker", "memory_limit", "local_directory", "idle_timeout")
    given: dict[str, Any] = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
    given |= {name: None for name in ("memory_limit", "idle_timeout") if str(given.get(name)).lower() == "none"}
    is_adaptive = options.minimum is not None or options.maximum is not None
    if is_adaptive:
        _ = checked_bounds(options.minimum or 0, options.maximum)  # before there is a cluster
    kind: type[LocalCluster] = LocalCUDACluster if options.gpu else LocalCluster
    try:
        cluster = kind(name=options.name, detached=options.detach, started_by=options.started_by, **given)
    except DeviceNotFound as error:
        found = str(error).removesuffix(CPU_ALTERNATIVE)
        raise DeviceNotFound(f"gpu=true can't be had: {found}Leave it out to compute on this machine's CPUs") from error
    try:
        if is_adaptive:
            cluster.adapt(options.minimum or 0, options.maximum)
    except BaseException:  # also an interrupt: nobody would know of it
        cluster.close()
        raise
    told = json.dumps({"id": cluster.id, "name": cluster.name}) if options.json else _introduction(cluster, options)
    print(told, flush=True)
    if not options.detach:
        try:
            cluster.wait()
        finally:
            cluster.close()
    return 0


def _introduction(cluster: LocalCluster, options: argparse.Namespace) -> str:
    """Return what a person wants to know of a new cluster."""
    n_workers, n_threads = cluster.options.n_workers, cluster.options.threads_per_worker
    end = f"glassloom cluster stop {cluster.id}" if options.detach else "Ctrl-C"
    return (
        f"Cluster {cluster.name!r} is running, id {cluster.id}: {_counted(n_workers, 'worker')} "
        f"of {_counted(n_threads, 'thread')} each.\n"
        f"In Python: Client({cluster.name!r})\n"
        f"To end it: {end}"
    )


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" + ("s" if number != 1 else "")


def _stop(options: argparse.Namespace) -> int:
    timeout_s = parse_seconds("timeout", options.timeout) or 0.0
    if bool(options.clusters) == options.all:
        options.parser.error("say which clusters, by name or id, or --all")
    if options.all:
        done, wrong = commands.stop_all_clusters(timeout_s=timeout_s, force=options.force)
    else:
        done, wrong = commands.stop_clusters(options.clusters, timeout_s=timeout_s, force=options.force)
    for line in done:
        print(line, flush=True)
    for line in wrong:
        print(f"glassloom: {line}", file=sys.stderr)
    return 1 if wrong else 0


def _list(options: argparse.Namespace) -> int:
    print(commands.list_clusters_json() if options.json else commands.list_clusters())
    return 0
