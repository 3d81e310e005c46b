"""Clients of 5.x at an endpoint that demands TLS, and at one that demands an account: a few quick scenarios.

One of them has a helping client of 4.x, which encrypts or signs as well.
"""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from compat_tests.cases import USUAL
from compat_tests.endpoints import Rocketwire
from rocketwire.compat.brokers.endpoint import running
from rocketwire.compat.clients.adapter import Engine, Security
from rocketwire.compat.clients.registry import adapters
from rocketwire.compat.endpoint import Access
from rocketwire.compat.engine.plan import Task, not_offered
from rocketwire.compat.engine.probe import probe
from rocketwire.compat.engine.run import Run, Settings
from rocketwire.compat.results import Outcome, Result, Side
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


def results(access: Access, security: Security, clients: Sequence[str]) -> list[Result]:
    """What becomes of the scenarios with each of the clients."""
    chosen = {client: adapters()[client] for client in clients}
    helper = adapters()[f"java-{USUAL}"]
    for adapter in (*chosen.values(), helper):
        adapter.prepare(Engine.HOST)
    facts = probe(access)
    demanded = frozenset({security})
    tasks = [
        Task(
            scenario=scenario,
            client=client,
            side=Side.ENDPOINT,
            reason=not_offered(scenario, adapter, facts, security=demanded, helper=helper),
        )
        for client, adapter in chosen.items()
        for scenario in (catalogue()[name] for name in _SCENARIOS)
    ]
    settings = Settings(
        engine=Engine.HOST, clients=chosen, helper=helper, sides={Side.ENDPOINT: facts}, security=demanded, jobs=4
    )
    return Run(settings=settings, tasks=tasks).run(lambda _: None)


def failed(found: Sequence[Result]) -> dict[tuple[str, str], str]:
    """Those that did not pass, each with its error."""
    return {
        (each.client, each.scenario): each.reason or each.attempts[-1].error
        for each in found
        if each.outcome not in {Outcome.PASS, Outcome.FLAKY}
    }


def test_tls(tmp_path: Path) -> None:
    """With the server's own certificate, which no client verifies; the Python client verifies all."""
    endpoint = Rocketwire(tmp_path, settings={"tlsServerMode": "enforcing"}, grpc=True)
    with running(endpoint):
        anything = ssl.create_default_context()
        anything.check_hostname, anything.verify_mode = False, ssl.CERT_NONE
        access = Access(namesrv=endpoint.namesrv, tls=anything, grpc=endpoint.grpc)
        assert failed(results(access, Security.TLS, (_JAVA,))) == {}


def test_access_control(tmp_path: Path) -> None:
    accounts = tmp_path / "plain_acl.yml"
    accounts.write_text(_ACCOUNTS)
    endpoint = Rocketwire(tmp_path, grpc=True, options=("--acl", str(accounts)))
    with running(endpoint):
        access = Access(namesrv=endpoint.namesrv, credentials=_ACCOUNT, grpc=endpoint.grpc)
        assert failed(results(access, Security.ACL, (_JAVA, _PYTHON))) == {}
