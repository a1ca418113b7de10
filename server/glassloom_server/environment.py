"""Which environment variables child processes get: none that hold Jupyter's own secrets."""

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


_JUPYTERS_OWN = ("CONFIGPROXY_", "JPY_", "JUPYTERHUB_", "JUPYTER_TOKEN")


def without_secrets(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables without those by which Jupyter and its hub tell their server who it is.

    Clusters get the rest, as kernels do: tasks may need the credentials of stores, proxies, libraries' settings.

    >>> without_secrets({"AWS_PROFILE": "me", "JUPYTERHUB_API_TOKEN": "sekret", "JUPYTER_DATA_DIR": "/x"})
    {'AWS_PROFILE': 'me', 'JUPYTER_DATA_DIR': '/x'}
    """
    return {name: value for name, value in environment.items() if not name.startswith(_JUPYTERS_OWN)}


def minimal_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables by which a Python process finds its libraries, language, folders and Glassloom's registry.

    >>> minimal_environment({"PATH": "/bin", "LC_ALL": "C", "PYTHONPATH": "/x", "JUPYTERHUB_API_TOKEN": "sekret"})
    {'PATH': '/bin', 'LC_ALL': 'C', 'PYTHONPATH': '/x'}
    """
    return {name: value for name, value in environment.items() if name in _NAMES or name.startswith(_PREFIXES)}
