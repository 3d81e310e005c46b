from __future__ import annotations

from pathlib import Path

import pytest
import trustme

from tests.server.net.tls.support import HOST, Files


@pytest.fixture(scope="session")
def authority() -> trustme.CA:
    return trustme.CA(key_type=trustme.KeyType.ECDSA)


@pytest.fixture(scope="session")
def certificate(authority: trustme.CA) -> trustme.LeafCert:
    return authority.issue_cert(HOST, key_type=trustme.KeyType.ECDSA)


@pytest.fixture
def files(tmp_path: Path, authority: trustme.CA, certificate: trustme.LeafCert) -> Files:
    return Files(tmp_path / "tls", authority, certificate)
