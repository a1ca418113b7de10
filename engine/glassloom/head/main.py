"""The head's process, from its start to its end: its files, its fork server, its event loop, its last words.

`cluster.head_process` starts it. One line of JSON on standard output says that the cluster is ready, or why it isn't.
"""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
import traceback
from typing import Any

import msgspec
from glassloom_metrics.registry import CLUSTER_LOG

from glassloom._process_title import set_process_title
from glassloom.errors import GlassloomError
from glassloom.head.cluster_log import write_log
from glassloom.head.registration import print_json
from glassloom.head.server import Head
from glassloom.protocol.identity import new_cluster_id
from glassloom.protocol.options import HeadOptions
from glassloom.protocol.places import ClusterPlaces, make_places
from glassloom.worker import fork_server


def main(options: dict[str, Any], worker_path: list[str]) -> None:
    """Run a cluster until it is shut down.

    Parameters
    ----------
    options
        `HeadOptions` as plain data.
    worker_path
        Where workers look for modules.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.set_threshold(100_000, 100, 100)  # a full pass over a million tasks would stall the head, to free nothing
    try:
        head_options = msgspec.convert(options, HeadOptions)
        places = make_places(new_cluster_id(), head_options.local_directory)
        try:
            _run(head_options, places, worker_path)
        finally:
            places.remove()
    except GlassloomError as error:
        print_json({"error": str(error)})
        sys.exit(1)
    except BaseException as error:  # nothing is above us: the starter and the log get the last word
        print_json({"error": f"the head crashed: {type(error).__name__}: {error}"})
        write_log(traceback.format_exc())
        sys.exit(1)


def _run(options: HeadOptions, places: ClusterPlaces, worker_path: list[str]) -> None:
    log_path = os.path.join(places.directory, CLUSTER_LOG)
    fork_server.redirect_output(log_path, 2)  # the starter still reads what we print
    fork_server_process = fork_server.start(
        fork_server.ForkServerOptions(
            places=places,
            cluster_name=options.name,
            log_path=log_path,
            preload=list(options.preload),
            worker_path=worker_path,
        )
    )
    set_process_title(f"glassloom head {options.name}", "glassloom-head")
    asyncio.run(Head(options, places).run(fork_server_process))
