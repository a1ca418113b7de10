"""Clusters of dask.distributed behind TLS, with certificates that are made here."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from time import monotonic

import distributed
import pytest
from calls import inc
from glassloom import Client
from glassloom.errors import ClusterNotFound, OptionError

if shutil.which("openssl") is None:
    pytest.skip("needs openssl, to make certificates", allow_module_level=True)


def certificate(folder: Path, name: str) -> distributed.Security:
    """Make a certificate that is its own authority; return what uses it on all sides."""
    key, made = folder / f"{name}.key", folder / f"{name}.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1",
         "-subj", "/CN=localhost", "-keyout", str(key), "-out", str(made)],
        check=True, capture_output=True,
    )  # fmt: skip
    sides = {
        f"tls_{side}_{part}": str(path)
        for side in ("client", "scheduler", "worker")
        for part, path in (("key", key), ("cert", made))
    }
    return distributed.Security(tls_ca_file=str(made), require_encryption=True, **sides)


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
