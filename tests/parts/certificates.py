"""An authority of the tests' own, and certificates that it signs."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest


class Authority:
    """Makes PEM files in a directory, with openssl: `certificate` is the authority's own."""

    def __init__(self, directory: Path) -> None:
        if not shutil.which("openssl"):
            pytest.skip("certificates need openssl")
        self._directory = directory
        self.certificate, self._key = directory / "ca.pem", directory / "ca.key"
        _openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", self._key, "-out", self.certificate,
                 "-days", "2", "-subj", "/CN=authority")  # fmt: skip

    def sign(self, name: str, address: str = "127.0.0.1", *, expired: bool = False) -> tuple[Path, Path]:
        """Return a certificate for `address`, and its key. expired: it ends as it begins."""
        days = ("-days", "0" if expired else "2")
        certificate, key, request, extensions = (
            self._directory / f"{name}.{end}" for end in ("pem", "key", "csr", "ext")
        )
        extensions.write_text(f"subjectAltName=IP:{address}\n")
        _openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", request, "-subj", f"/CN={name}")
        _openssl("x509", "-req", "-in", request, "-CA", self.certificate, "-CAkey", self._key, "-CAcreateserial",
                 *days, "-extfile", extensions, "-out", certificate)  # fmt: skip
        return certificate, key


def encrypted(key: Path, password: str) -> Path:
    """Return a copy of `key` that needs a password."""
    copy = key.with_suffix(".encrypted.key")
    _openssl("pkcs8", "-topk8", "-in", key, "-out", copy, "-passout", f"pass:{password}")
    return copy


def _openssl(*words: object) -> None:
    subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True)
