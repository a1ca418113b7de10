"""Configuration: the defaults of options, from YAML files, environment variables and `set`. It reads; it decides nothing.

>>> from glassloom import config
>>> config.get("array.chunk-size")
134217728
>>> with config.set(array__chunk_size="64 MiB"):
...     config.get("array.chunk-size")
67108864

An argument that is given to a function always wins. For one that isn't, the first of these that has the option counts:

1. ``with config.set(...)``: holds for the block's own thread and for the asyncio tasks that it starts (it is a context
   variable). Other threads don't see it, and neither do tasks, which run in other threads or processes.
2. ``config.set(...)`` as a call: holds for the whole process, all threads, until `refresh`.
3. Environment variables: ``array.chunk-size`` is ``GLASSLOOM_ARRAY__CHUNK_SIZE``.
4. The user's YAML files: ``~/.config/glassloom/*.yaml`` (or below ``XDG_CONFIG_HOME``). If ``GLASSLOOM_CONFIG`` is set, the
   file or folder that it names takes their place.
5. The YAML files of the Python environment: ``<sys.prefix>/etc/glassloom/*.yaml``.
6. The YAML files of the machine: ``/etc/glassloom/*.yaml``.
7. The default in `OPTIONS`.

Files of one folder are read in the order of their names, and later ones win. Environment and files are read when the first
option is looked up, and again by `refresh`. A cluster's processes get what holds when it is started.

Thread-safe.
"""

from __future__ import annotations

from glassloom.config.options import OPTIONS
from glassloom.config.settings import Configured, chosen, describe, environment, get, refresh, set

__all__ = ["OPTIONS", "Configured", "chosen", "describe", "environment", "get", "refresh", "set"]
