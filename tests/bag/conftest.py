"""A registry and folder of their own for the tests of bags; a cluster for those that need processes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from glassloom import Client, config
from hypothesis import settings
from long_tests import examples

settings.register_profile("bags", settings.get_profile("common"), max_examples=examples(15))
settings.load_profile("bags")


@pytest.fixture(scope="module", autouse=True)
def own_registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path_factory.mktemp("rt")))
        patch.setenv("GLASSLOOM_THREADS__PUBLISH", "false")
        config.refresh()
        yield


@pytest.fixture(scope="module")
def client(own_registry: None) -> Iterator[Client]:
    with Client(n_workers=2, threads_per_worker=1, memory_limit="1GB", set_as_default=False) as client:
        yield client
