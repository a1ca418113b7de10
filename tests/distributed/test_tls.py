"""Clusters of dask.distributed behind TLS, with certificates that are made here."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from time import monotonic

import distributed
import pytest
from calls import inc
from certificates import certificate
from glassloom import Client
from glassloom.errors import ClusterNotFound, OptionError


@pytest.fixture(scope="module")
def security(tmp_path_factory: pytest.TempPathFactory) -> distributed.Security:
    return certificate(tmp_path_factory.mktemp("tls"), "right")


@pytest.fixture(scope="module")
def behind_tls(own_folders: None, security: distributed.Security) -> Iterator[distributed.LocalCluster]:
    with distributed.LocalCluster(
        n_workers=1,
        threads_per_worker=1,
        processes=False,
        protocol="tls://",
        host="127.0.0.1",
        security=security,
        dashboard_address=None,
        silence_logs=50,
    ) as cluster:
        yield cluster


def test_a_client_with_the_right_certificates(
    behind_tls: distributed.LocalCluster, security: distributed.Security
) -> None:
    assert behind_tls.scheduler_address.startswith("tls://")
    with Client(behind_tls.scheduler_address, security=security, set_as_default=False) as client:
        assert client.submit(inc, 1).result() == 2


@pytest.mark.parametrize("how", ["other authority", "no TLS", "no such file"])
def test_without_them_there_is_an_error_in_bounded_time(
    behind_tls: distributed.LocalCluster, tmp_path: Path, how: str
) -> None:
    address, security = behind_tls.scheduler_address, None
    if how == "no TLS":
        address = address.replace("tls", "tcp")
    elif how == "no such file":
        security = distributed.Security(tls_ca_file=str(tmp_path / "nowhere.pem"), require_encryption=True)
    else:
        security = certificate(tmp_path, "wrong")
    began_s = monotonic()
    with pytest.raises((ClusterNotFound, OptionError), match="TLS|certificate"):
        Client(address, security=security, set_as_default=False)
    print(how, monotonic() - began_s)
