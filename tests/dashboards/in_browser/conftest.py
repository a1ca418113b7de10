"""A browser, and a dashboards process that it is let in to: all tests of this folder share them, one after the other in one process."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from pathlib import Path

import browsing
import pytest
from shared_by_folder import SharedByFolder

_shared = SharedByFolder(Path(__file__).parent)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> Generator[None, object, object]:
    """Close what is shared after this folder's last test."""
    try:
        return (yield)
    finally:
        _shared.close_before(nextitem)


@pytest.fixture(scope="module")
def browser() -> object:
    """Return a browser."""
    return _shared.get("browser", browsing.chromium)


@pytest.fixture(scope="session")
def shared_runtime(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory of the registry that `dashboards_site` reads."""
    return tmp_path_factory.mktemp("rt")


@pytest.fixture(scope="module")
def dashboards_site(browser: object, shared_runtime: Path) -> browsing.Site:
    """Return a dashboards process that has let the browser in."""
    return _shared.get("site", lambda: browsing.open_site(browser, JUPYTER_RUNTIME_DIR=str(shared_runtime)))


@pytest.fixture
def tab(dashboards_site: browsing.Site, runtime: Path, cluster_id: str) -> Iterator[object]:
    """Return a browser tab of the dashboards; the address of this test's cluster there is its `cluster`."""
    with browsing.open_tab_of(dashboards_site) as tab:
        tab.cluster = f"{tab.base}/{cluster_id}"
        yield tab


@pytest.fixture
def tab_alone(browser: object, runtime: Path) -> Iterator[object]:
    """Return a browser tab of a dashboards process that is this test's alone, as is its registry."""
    with browsing.open_tab(browser) as tab:
        yield tab
