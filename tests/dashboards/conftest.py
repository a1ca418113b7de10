"""What the tests of the dashboards share: a private registry and made-up clusters."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import synthetic
from glassloom_dashboards.serving.bokeh_defaults import remember_defaults

_numbers = itertools.count(1)


@pytest.fixture(scope="session", autouse=True)
def remembered_defaults() -> None:
    """Let Bokeh remember defaults, as in every process that draws pages: half of the time that these tests take."""
    remember_defaults()


@pytest.fixture
def runtime(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """Return a directory that holds a registry of this test alone, or, beside a `tab`, one that all such tests share.

    Its path is short, as sockets' must be.
    """
    shared = "tab" in request.fixturenames
    path: Path = request.getfixturevalue("shared_runtime") if shared else tmp_path_factory.mktemp("rt")
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(path))
    return path


@pytest.fixture
def cluster_id(request: pytest.FixtureRequest) -> str:
    """Return the id of a test's made-up cluster: never the same twice where a dashboards process is shared."""
    return f"c{next(_numbers)}" if "tab" in request.fixturenames else "c1"


Publish = Callable[..., synthetic.ClusterHandle]


@pytest.fixture
def publish(runtime: Path, cluster_id: str) -> Iterator[Publish]:
    """Return a function that starts a made-up cluster of a shape; they all end with the test."""
    with ExitStack() as stack:

        def publish(
            shape: synthetic.Shape, cluster_id: str = cluster_id, name: str = "demo"
        ) -> synthetic.ClusterHandle:
            recorder = synthetic.make_recorder(shape, cluster_id, name)
            return stack.enter_context(synthetic.published(recorder, runtime, cluster_id, name))

        yield publish
