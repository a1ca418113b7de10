"""Who a cluster is: its id, the kernel that it belongs to, its version."""

from __future__ import annotations

import json
import os
import re
import secrets
import sys
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as distribution_version

from glassloom_metrics.registry import jupyter_runtime_dir

from glassloom._text import encodable


def new_cluster_id() -> str:
    """Return a new random id, fit for file names and URLs."""
    return secrets.token_hex(6)


def kernel_id() -> str | None:
    """Return the id of the Jupyter kernel that this process is, or None."""
    if "ipykernel" not in sys.modules:
        return None
    from ipykernel.connect import get_connection_file  # optional dependency
    from traitlets.config import MultipleInstanceError

    try:
        name = os.path.basename(get_connection_file())
    except (RuntimeError, MultipleInstanceError):
        return None  # no application, or another one than a kernel: IPython in a terminal, a Jupyter server
    match = re.fullmatch(r"kernel-(.+)\.json", name)
    return match.group(1) if match else None


def asker_id() -> str:
    """Return what tells the runs of this process from those of others: the kernel's id, or else a text of this process alone.

    A forked child is another process.
    """
    return kernel_id() or f"process-{os.getpid()}-{_process_token}"


_process_token = secrets.token_hex(4)


def notebook() -> str:
    """Return the path of the notebook whose kernel this process is, as Jupyter tells it; ``""`` if there is none."""
    return encodable(os.environ.get("JPY_SESSION_NAME", "")) if kernel_id() is not None else ""


def script() -> str:
    """Return the path of the script that this process runs; ``""`` for a kernel, a shell or a module's command."""
    main = getattr(sys.modules.get("__main__"), "__spec__", None)
    path = sys.argv[0] if sys.argv and main is None and kernel_id() is None else ""
    return encodable(os.path.abspath(path)) if os.path.isfile(path) else ""


def status_page(cluster_id: str) -> str:
    """Return where a cluster's status page is: a path on this notebook's Jupyter server, or the command that serves it."""
    base_url = jupyter_base_url()
    return f"{base_url}glassloom/dash/{cluster_id}/status" if base_url else "run: glassloom dashboard"


def jupyter_base_url() -> str | None:
    """Return the path under which the Jupyter server of this kernel serves, such as ``"/user/someone/"``, or None.

    Jupyter tells a kernel the server's pid, and keeps what it serves in a file of its runtime directory.
    """
    pid = os.environ.get("JPY_PARENT_PID", "")
    if kernel_id() is None or not pid.isdecimal():
        return None
    try:
        text = (jupyter_runtime_dir() / f"jpserver-{pid}.json").read_text()
        base_url = json.loads(text)["base_url"]
    except (OSError, ValueError, KeyError):
        return None
    return base_url if isinstance(base_url, str) else None


def version() -> str:
    """Return the installed version of Glassloom, or an empty string if it isn't installed."""
    try:
        return distribution_version("glassloom")
    except PackageNotFoundError:
        return ""
