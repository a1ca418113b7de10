"""Every error that Glassloom raises on its own account: one class for each thing a caller may want to catch."""

from __future__ import annotations


class GlassloomError(Exception):
    """Base of Glassloom's own errors. A task's exception is raised as itself, not as one of these."""


class GraphError(GlassloomError, ValueError):
    """A graph that cannot be run: a missing key, a cycle."""


class ChunkError(GlassloomError, ValueError):
    """Chunks that don't fit the shape, or each other."""


class DivisionError(GlassloomError, ValueError):
    """Divisions that are unknown, unsorted or don't fit the partitions."""


class UnknownColumn(GlassloomError, KeyError):
    """A column that the frame doesn't have."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class MetaError(GlassloomError, ValueError):
    """What a function returns isn't what was announced, or can't be found out."""


class TruthError(GlassloomError, TypeError, ValueError):
    """The truth of a lazy frame, series or value, which isn't known. pandas raises a `ValueError` for those of several values."""


class ReadError(GlassloomError, OSError):
    """A file that cannot be read: damaged, or not of the format that was asked for."""


class ParseError(ReadError, ValueError):
    """Text in a file that isn't of the form that was asked for. pandas raises kinds of `ValueError` there."""


class NotSupported(GlassloomError, NotImplementedError, AttributeError):
    """A method of NumPy's or pandas' objects that a lazy one doesn't have. `hasattr` says False."""


class OptionError(GlassloomError, ValueError):
    """An option with a value that it cannot have."""


class ConfigError(OptionError):
    """A configuration file, environment variable or call that names no option, or gives one a value that it can't have."""


class ClusterError(GlassloomError, RuntimeError):
    """A cluster that cannot do what it is asked to."""


class ClusterClosed(ClusterError):
    """The cluster or the client has been closed, or its head process has died."""


class ForkedError(ClusterError):
    """A client, future or cluster was used in a forked child of the process that made it."""


class ThreadPoolEnded(ClusterError):
    """The pool of threads was closed, or one of its threads crashed, while a computation waited for it."""


class ClusterNotFound(ClusterError, LookupError):
    """No running cluster has the asked name or id."""


class ClusterStartError(ClusterError):
    """The head or the workers didn't start."""


class DeviceNotFound(ClusterStartError, LookupError):
    """There is no GPU on this machine, or not the one that was asked for."""


class NoSuchWorker(ClusterError, LookupError):
    """A task may run on certain workers only, and none of them is there."""


class WorkerLost(ClusterError):
    """A task has lost its worker process too often; the task is to blame, or there is no worker left to run it."""


class MemoryLimitExceeded(WorkerLost, MemoryError):
    """A task's workers were ended, time and again, because they took more memory than they may."""


class DeviceOutOfMemory(ClusterError, MemoryError):
    """A task took more memory of its worker's device than there is, also when it ran alone there."""


class NoDevice(ClusterError):
    """A result of a device, such as a GPU, was asked for in a process that can't hold it."""


class DataLost(ClusterError):
    """A result is gone and cannot be computed again: it was scattered, or something removes its file time and again."""


class SerialisationError(GlassloomError, TypeError):
    """An argument, function or result that cannot be sent to another process."""


class StoreFull(GlassloomError, OSError):
    """Neither shared memory nor the disk has room for a result."""


class CancelledError(GlassloomError):
    """The task was cancelled before it had a result."""


class RemoteError(GlassloomError):
    """What a task raised can't be sent from its process, or isn't safe to raise in the user's; this stands in for it."""
