"""Certificates for tests, made by openssl, which the tests that use them need."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import distributed
import pytest

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


def files_of(security: distributed.Security, role: str = "client") -> list[str]:
    """Return the options of a command that name the files of a role."""
    told = security.get_tls_config_for_role(role)
    return ["--tls-ca-file", told["ca_file"], "--tls-cert", told["cert"], "--tls-key", told["key"]]
