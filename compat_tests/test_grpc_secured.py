"""Clients of 5.x at an endpoint that demands TLS, and at one that demands an account: a few quick scenarios.

One of them has a helping client of 4.x, which encrypts or signs as well.
"""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from compat_tests.endpoints import Rocketwire
from compat_tests.sdk_runs import assert_passed, results_of
from rocketwire.compat.brokers.endpoint import running
from rocketwire.compat.clients.adapter import Security
from rocketwire.compat.endpoint import Access
from rocketwire.compat.scenario import catalogue
from rocketwire.remoting.credentials import Credentials

_JAVA: Final = "java-grpc-5.2.0"
_PYTHON: Final = "python-grpc-5.1.2"
_SCENARIOS: Final = ("grpc-send.normal", "grpc-simple.woken", "grpc-push.woken", "grpc-mixed.received-by-4")
_ACCOUNT: Final = Credentials(access_key="compat-account", secret_key="compat-secret")
_ACCOUNTS: Final = f"""\
accounts:
- accessKey: {_ACCOUNT.access_key}
  secretKey: {_ACCOUNT.secret_key}
  admin: true
"""


def assert_all_pass(access: Access, security: Security, clients: Sequence[str]) -> None:
    """Run the scenarios with each of the clients."""
    chosen = [(catalogue()[name], client) for client in clients for name in _SCENARIOS]
    for result in results_of(chosen, access, jobs=4, security=frozenset({security})).values():
        assert_passed(result)


def test_tls(tmp_path: Path) -> None:
    """With the server's own certificate, which no client verifies; the Python client verifies all."""
    endpoint = Rocketwire(tmp_path, settings={"tlsServerMode": "enforcing"}, grpc=True)
    with running(endpoint):
        anything = ssl.create_default_context()
        anything.check_hostname, anything.verify_mode = False, ssl.CERT_NONE
        access = Access(namesrv=endpoint.namesrv, tls=anything, grpc=endpoint.grpc)
        assert_all_pass(access, Security.TLS, (_JAVA,))


def test_access_control(tmp_path: Path) -> None:
    accounts = tmp_path / "plain_acl.yml"
    accounts.write_text(_ACCOUNTS)
    endpoint = Rocketwire(tmp_path, grpc=True, options=("--acl", str(accounts)))
    with running(endpoint):
        access = Access(namesrv=endpoint.namesrv, credentials=_ACCOUNT, grpc=endpoint.grpc)
        assert_all_pass(access, Security.ACL, (_JAVA, _PYTHON))
