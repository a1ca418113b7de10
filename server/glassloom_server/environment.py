"""Which environment variables the dashboards process gets: none that hold Jupyter's secrets, as it needs none."""

from __future__ import annotations

from collections.abc import Mapping

_NAMES = frozenset(
    (
        "CONDA_PREFIX",
        "HOME",
        "JUPYTER_DATA_DIR",
        "JUPYTER_PLATFORM_DIRS",
        "JUPYTER_RUNTIME_DIR",
        "LANG",
        "LANGUAGE",
        "LD_LIBRARY_PATH",
        "LOGNAME",
        "PATH",
        "TEMP",
        "TMP",
        "TMPDIR",
        "TZ",
        "USER",
        "VIRTUAL_ENV",
        "XDG_DATA_HOME",
    )
)
_PREFIXES = ("GLASSLOOM_", "LC_", "PYTHON")


def minimal_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables by which a Python process finds its libraries, language, folders and Glassloom's registry.

    >>> minimal_environment({"PATH": "/bin", "LC_ALL": "C", "PYTHONPATH": "/x", "JUPYTERHUB_API_TOKEN": "sekret"})
    {'PATH': '/bin', 'LC_ALL': 'C', 'PYTHONPATH': '/x'}
    """
    return {name: value for name, value in environment.items() if name in _NAMES or name.startswith(_PREFIXES)}
