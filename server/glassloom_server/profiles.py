"""`Profiles`: what a new cluster can be: the form's schema, named sets of values, and the kernels whose environments there are."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Mapping
from logging import Logger, LoggerAdapter
from typing import Any

import msgspec
from jupyter_client.kernelspec import KernelSpecManager

from glassloom_server.errors import ProfileNotFound
from glassloom_server.launcher import Factory
from glassloom_server.wire import StartRequest


class Profile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A named set of values of a `StartRequest`."""

    name: str
    title: str = ""
    description: str = ""
    values: dict[str, Any] = {}


class ConfiguredProfile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A profile as Jupyter's configuration has it.

    With ``factory``, such as ``"dask_jobqueue.SLURMCluster"``, the cluster is one of Dask's: what this class makes of ``args`` and
    ``kwargs``, which are as in Dask's configuration. The panel isn't told of them.
    """

    name: str
    title: str = ""
    description: str = ""
    values: dict[str, Any] = {}
    factory: str = ""
    args: list[Any] = []
    kwargs: dict[str, Any] = {}

    @property
    def made_by(self) -> Factory | None:
        """The factory of its clusters, None if they are Glassloom's own."""
        return Factory(self.factory, tuple(self.args), self.kwargs) if self.factory else None

    @property
    def shown(self) -> Profile:
        """What the panel is told."""
        return Profile(self.name, self.title or self.name, self.description, self.values)


class Kernel(msgspec.Struct, frozen=True):
    """A kernel whose environment a cluster can have."""

    name: str
    title: str


class ProfileList(msgspec.Struct, frozen=True):
    """What a form for a new cluster needs: a JSON Schema, named profiles, and kernels."""

    schema: dict[str, Any]
    profiles: list[Profile]
    kernels: list[Kernel]


GPU_PROFILE = Profile(
    "gpu",
    "One worker for each GPU",
    "Workers that compute with CuPy and cuDF, each on an NVIDIA GPU of its own",
    {"gpu": True},
)
"""The profile that there is on machines with NVIDIA GPUs, unless the configuration has one of its name."""
_DRIVER_FILES = ("/dev/nvidiactl", "/dev/dxg")
"""What the NVIDIA driver makes: on Linux, and on Windows' Linux."""


def has_gpu_driver(paths: Iterable[str] = _DRIVER_FILES) -> bool:
    """Tell whether this machine has the driver of a GPU, by the driver's files: nothing of it is loaded."""
    return any(map(os.path.exists, paths))


class Profiles:
    """The profiles of Jupyter's configuration.

    Parameters
    ----------
    configured
        As the trait ``GlassloomServer.profiles`` has them. One that has no sense is left out, and the log says why.
    """

    def __init__(
        self,
        configured: Iterable[Mapping[str, Any]],
        *,
        specs: KernelSpecManager,
        log: Logger | LoggerAdapter[Logger],
    ) -> None:
        self._specs = specs
        self._profiles: dict[str, Profile] = {GPU_PROFILE.name: GPU_PROFILE} if has_gpu_driver() else {}
        self._factories: dict[str, Factory | None] = {}
        for values in configured:
            try:
                profile = msgspec.convert(_flat(values), ConfiguredProfile)
                _ = msgspec.convert({**profile.values, "profile": profile.name}, StartRequest)
            except msgspec.ValidationError as error:
                log.error("GlassloomServer.profiles: %r is left out: %s", dict(values), error)
            else:
                if self._profiles.get(profile.name, GPU_PROFILE) is not GPU_PROFILE:
                    log.error("GlassloomServer.profiles: there are two called %r; the last one holds", profile.name)
                self._profiles[profile.name] = profile.shown
                self._factories[profile.name] = profile.made_by

    async def describe(self) -> ProfileList:
        """Return what a form needs; kernels are looked for in a thread."""
        return ProfileList(start_schema(), list(self._profiles.values()), await asyncio.to_thread(self._kernels))

    def complete(self, request: StartRequest) -> StartRequest:
        """Return a request with the values of its profile where it has none; raises `ProfileNotFound`."""
        if request.profile is None:
            return request
        profile = self._profiles.get(request.profile)
        if profile is None:
            known = ", ".join(map(repr, self._profiles)) or "none"
            raise ProfileNotFound(f"no profile {request.profile!r}; there are: {known}")
        asked = {name: value for name, value in msgspec.structs.asdict(request).items() if value is not None}
        return msgspec.convert({**profile.values, **asked}, StartRequest)

    def factory(self, name: str | None) -> Factory | None:
        """Return what makes the clusters of a profile that is known; None: Glassloom does."""
        return None if name is None else self._factories.get(name)

    def _kernels(self) -> list[Kernel]:
        """Return the Python kernels by name."""
        specs = self._specs.get_all_specs()
        return [
            Kernel(name, str(found["spec"].get("display_name") or name))
            for name, found in sorted(specs.items())
            if str(found["spec"].get("language", "")).lower() == "python"
        ]


def _flat(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a profile; where its factory is written as in Dask's configuration, with module and class, as one name.

    >>> _flat({"name": "x", "factory": {"module": "distributed", "class": "LocalCluster", "kwargs": {"n_workers": 2}}})
    {'name': 'x', 'factory': 'distributed.LocalCluster', 'kwargs': {'n_workers': 2}}
    """
    factory = values.get("factory")
    if not isinstance(factory, Mapping):
        return dict(values)
    told = dict(factory)
    name = f"{told.pop('module', '')}.{told.pop('class', '')}"
    return {**values, "factory": name, **told}


def start_schema() -> dict[str, Any]:
    """Return the JSON Schema of a `StartRequest` as forms show it: no field is needed, and none of them is null.

    >>> start_schema()["properties"]["n_workers"]["minimum"]
    1
    """
    components = msgspec.json.schema(StartRequest)
    schema: dict[str, Any] = components["$defs"]["StartRequest"]
    properties = {name: _without_null(told) for name, told in schema["properties"].items() if name != "profile"}
    return {**schema, "title": "New cluster", "properties": properties}


def _without_null(told: dict[str, Any]) -> dict[str, Any]:
    options = [option for option in told.get("anyOf", []) if option != {"type": "null"}]
    rest = {name: value for name, value in told.items() if name not in ("anyOf", "default")}
    return {**(options[0] if options else {}), **rest}
