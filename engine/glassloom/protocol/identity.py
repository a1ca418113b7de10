"""Names and places of a cluster: its id, its private directory, the kernel that it belongs to."""

from __future__ import annotations

import json
import os
import re
import secrets
import sys
import tempfile
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as distribution_version

from glassloom_metrics.registry import NAME_PREFIX, jupyter_runtime_dir

from glassloom.errors import ClusterStartError

# A UNIX socket's path may have 107 bytes; the longest name in the directory is short.
_MAX_DIRECTORY_CHARACTERS = 80


def new_cluster_id() -> str:
    """Return a new random id, fit for file names and URLs."""
    return secrets.token_hex(6)


def cluster_directory(cluster_id: str, base: str | None = None) -> str:
    """Make a private directory (mode 0700) for a cluster and return its path.

    Parameters
    ----------
    base
        Where; default the system's folder for temporary files.

    Raises
    ------
    ClusterStartError
        If it can't be made.
    """
    base = base or tempfile.gettempdir()
    path = os.path.join(base, f"{NAME_PREFIX}{cluster_id}")
    if len(path) > _MAX_DIRECTORY_CHARACTERS:
        path = os.path.join("/tmp", f"{NAME_PREFIX}{cluster_id}")
    try:
        os.mkdir(path, 0o700)
    except OSError as error:
        raise ClusterStartError(f"can't make the cluster's directory {path!r}: {error.strerror}") from error
    return path


def shm_prefix(cluster_id: str) -> str:
    """Return how the names of all shared-memory files of a cluster begin."""
    return f"{NAME_PREFIX}{cluster_id}-"


def kernel_id() -> str | None:
    """Return the id of the Jupyter kernel that this process is, or None."""
    if "ipykernel" not in sys.modules:
        return None
    from ipykernel.connect import get_connection_file  # optional dependency

    try:
        name = os.path.basename(get_connection_file())
    except RuntimeError:
        return None  # IPython without a kernel
    match = re.fullmatch(r"kernel-(.+)\.json", name)
    return match.group(1) if match else None


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
