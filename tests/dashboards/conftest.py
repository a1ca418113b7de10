"""What the tests of the dashboards share: a private registry and made-up clusters."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import browsing
import synthetic


@pytest.fixture
def runtime(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a directory that holds a registry of this test alone; its path is short, as sockets' must be."""
    path = tmp_path_factory.mktemp("rt")
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(path))
    return path


Publish = Callable[..., synthetic.ClusterHandle]


@pytest.fixture
def publish(runtime: Path) -> Iterator[Publish]:
    """Return a function that starts a made-up cluster of a shape; they all end with the test."""
    with ExitStack() as stack:

        def publish(shape: synthetic.Shape, cluster_id: str = "c1", name: str = "demo") -> synthetic.ClusterHandle:
            recorder = synthetic.make_recorder(shape, cluster_id, name)
            return stack.enter_context(synthetic.published(recorder, runtime, cluster_id, name))

        yield publish


@pytest.fixture(scope="module")
def browser() -> Iterator[object]:
    """Return a browser. Of one module: Playwright's loop must be gone before other tests run loops of their own."""
    with browsing.chromium() as browser:
        yield browser


@pytest.fixture
def tab(browser: object, runtime: Path) -> Iterator[object]:
    """Return a browser tab beside a registry of this test alone."""
    with browsing.open_tab(browser) as tab:
        yield tab
