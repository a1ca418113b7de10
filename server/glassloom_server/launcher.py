"""Starts clusters as processes in the environment of a kernel. What happens to them afterwards is not its business."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import shlex
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from string import Template
from typing import IO, Any

import msgspec
from glassloom_metrics.time_limit import time_limit
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager, NoSuchKernel

from glassloom_server.child_process import content, end, failure_text
from glassloom_server.environment import without_secrets
from glassloom_server.errors import ClusterStartError, KernelUnsuitable
from glassloom_server.killing import kill_started
from glassloom_server.wire import StartRequest

START_TIMEOUT_S = 60.0
_LOOK_INTERVAL_S = 0.05
_MARK = "GLASSLOOM_START"
"""A variable of the environment by which all processes of one start are told from others."""
_TIMEOUT = "GLASSLOOM_CLUSTER__START_TIMEOUT"
_SHARE_OF_CLUSTER = 0.8
"""How much of the time is the cluster's, which then has some left to say why it doesn't start."""
# What Jupyter itself replaces by its own interpreter when it starts a kernel.
_OUR_PYTHON = {"python", f"python{sys.version_info.major}", f"python{sys.version_info.major}.{sys.version_info.minor}"}


@dataclass(frozen=True)
class Interpreter:
    """How a kernel's Python is run, and the environment variables that it gets.

    ``command`` ends with the Python; before it may come what prepares an environment, such as ``conda run``.
    """

    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)


class KernelInterpreters:
    """Finds the Python behind a kernelspec. Reads files: call it outside the event loop."""

    def __init__(self, *, specs: KernelSpecManager, default_kernel_name: str) -> None:
        self._specs = specs
        self._default_kernel_name = default_kernel_name

    def find(self, kernel_name: str | None) -> Interpreter:
        """Return the interpreter of the kernel, by default Jupyter's default one; raises `KernelUnsuitable`."""
        name = kernel_name or self._default_kernel_name
        try:
            spec = self._specs.get_kernel_spec(name)
        except NoSuchKernel as error:
            known = ", ".join(sorted(self._specs.find_kernel_specs())) or "none"
            raise KernelUnsuitable(f"no kernel {name!r}; installed: {known}") from error
        if spec.language.lower() != "python" or not spec.argv:
            raise KernelUnsuitable(f"kernel {name!r} runs {spec.language!r}; a cluster needs Python")
        command = self._command(name, spec)
        # As jupyter_client does for kernels: "/opt/bin:${PATH}".
        environment = {name: Template(value).safe_substitute(os.environ) for name, value in spec.env.items()}
        return Interpreter(command, environment)

    def _command(self, name: str, spec: KernelSpec) -> tuple[str, ...]:
        """Return what comes before ``-m ipykernel_launcher``, so that whatever wraps a kernel wraps its clusters too."""
        pairs = zip(spec.argv[1:], spec.argv[2:], strict=False)
        places = [at for at, (flag, module) in enumerate(pairs, 1) if flag == "-m" and module.startswith("ipykernel")]
        first, *rest = spec.argv[: places[-1]] if places else spec.argv[:1]
        if not places and not Path(first).name.startswith("python"):
            raise KernelUnsuitable(
                f"kernel {name!r} runs {shlex.join(spec.argv)!r}: which Python that is can't be told, as it doesn't run "
                "'-m ipykernel_launcher'"
            )
        # As jupyter_client does for kernels.
        values = {"{prefix}": sys.prefix, "{resource_dir}": spec.resource_dir}
        words = [sys.executable if first in _OUR_PYTHON else first, *rest]
        for placeholder, value in values.items():
            words = [word.replace(placeholder, value) for word in words]
        return tuple(words)


@dataclass(frozen=True)
class Factory:
    """A class that makes clusters of Dask's, and what it is called with."""

    name: str
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)


def start_command(python: Sequence[str], request: StartRequest, factory: Factory | None = None) -> list[str]:
    """Return the command line that starts the cluster that `request` asks for.

    >>> start_command(["python"], StartRequest(n_workers=2))
    ['python', '-m', 'glassloom', 'cluster', 'start', '--json', '--detach', '--started-by=panel', '--n-workers=2']
    """
    options: list[tuple[str, Any]] = [
        ("--name", request.name),
        ("--n-workers", request.n_workers),
        ("--threads-per-worker", request.threads_per_worker),
        ("--memory-limit", request.memory_limit),
        ("--minimum", request.minimum),
        ("--maximum", request.maximum),
        ("--idle-timeout", request.idle_timeout),
    ]
    # One word each: a name such as "--help" stays a name.
    given = [f"{option}={value}" for option, value in options if value is not None]
    given += ["--gpu"] if request.gpu else []
    if factory is not None:
        arguments = {"args": list(factory.args), "kwargs": dict(factory.kwargs)}
        given += [f"--factory={factory.name}", *(f"--{name}={json.dumps(told)}" for name, told in arguments.items())]
    return [*python, "-m", "glassloom", "cluster", "start", "--json", "--detach", "--started-by=panel", *given]


async def launch_cluster(
    interpreter: Interpreter,
    request: StartRequest,
    factory: Factory | None = None,
    *,
    directory: str,
    timeout_s: float = START_TIMEOUT_S,
) -> str:
    """Start a cluster in a session of its own and return its id once it is ready; raises `ClusterStartError`.

    A start that takes too long, or whose waiting is cancelled, is ended with all that it has started.
    """
    mark = secrets.token_hex(8)
    environment = {
        **without_secrets(os.environ),
        **interpreter.environment,
        _MARK: mark,
        _TIMEOUT: f"{_SHARE_OF_CLUSTER * timeout_s:g} s",
    }
    # Files, not pipes: the cluster may go on writing when nobody reads any more.
    with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        try:
            process = await asyncio.create_subprocess_exec(
                *start_command(interpreter.command, request, factory),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                cwd=directory if Path(directory).is_dir() else None,
                env=environment,
                start_new_session=True,
            )
        except OSError as error:
            raise ClusterStartError(f"could not run {interpreter.command[0]}: {error.strerror or error}") from error
        try:
            async with time_limit(timeout_s):
                return await _ready_id(process, stdout)
        except TimeoutError as error:
            failure = failure_text(
                f"no cluster after {timeout_s:g} s", stderr
            )  # without what it says of being interrupted
            await _give_up(process, mark)
            raise ClusterStartError(failure) from error
        except asyncio.CancelledError:
            await _give_up(process, mark)
            raise
        except EOFError as error:
            reason = f"the cluster's process ended with exit code {process.returncode}"
            raise ClusterStartError(failure_text(reason, stderr)) from error


async def _give_up(process: asyncio.subprocess.Process, mark: str) -> None:
    """End a start's process, and the cluster that it may have started without telling us."""
    await end(process)
    await asyncio.to_thread(kill_started, _MARK, mark)


class _Ready(msgspec.Struct):
    """The line that the command prints when the cluster is ready."""

    id: str
    name: str


async def _ready_id(process: asyncio.subprocess.Process, stdout: IO[bytes]) -> str:
    """Return the id in that line; raises `EOFError` if the process ends without it."""
    while True:
        has_ended = process.returncode is not None  # asked first: what it said before it ended counts
        for line in content(stdout).splitlines():
            with contextlib.suppress(msgspec.DecodeError):
                return msgspec.json.decode(line, type=_Ready).id
        if has_ended:
            raise EOFError
        await asyncio.sleep(_LOOK_INTERVAL_S)
