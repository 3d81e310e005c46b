"""`rocketwire proxy` in front of Apache's brokers: what clients of 5.x do, by the scenarios of the catalogue."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from compat_tests.cases import USUAL, sdk_cases
from compat_tests.proxied import APACHE_5, Proxied
from rocketwire.compat.brokers.ports import LOOPBACK
from rocketwire.compat.clients.adapter import Engine
from rocketwire.compat.clients.registry import adapters
from rocketwire.compat.endpoint import Access
from rocketwire.compat.engine.plan import Task, not_offered
from rocketwire.compat.engine.probe import probe
from rocketwire.compat.engine.run import Run, Settings
from rocketwire.compat.results import Outcome, Result, Side
from rocketwire.compat.scenario import Scenario

_JOBS = 4
_SETTINGS = {
    "transactionTimeOut": "2000",
    "transactionCheckInterval": "2000",
    "transactionCheckMax": "3",
    "enablePropertyFilter": "true",
    "recallMessageEnable": "true",
}
_CHOSEN = (
    *("grpc-send.normal", "grpc-send.batch", "grpc-send.fifo", "grpc-simple.late-acknowledgement"),
    *("grpc-push.each-once", "grpc-push.comes-again", "grpc-fifo.failing-keeps-order", "grpc-delay.in-time"),
    *("grpc-transaction.*", "grpc-filter.*", "grpc-dead-letter.*"),
)
"""What a proxy could break, with one client; `rocketwire compat run --grpc PROXY` runs everything. A simple consumer is
woken at the broker that it waits at only, so `grpc-simple.woken` is for one broker."""

Results: TypeAlias = Mapping[tuple[str, str], Result]


@pytest.fixture(scope="module")
def proxied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxied]:
    running = Proxied(
        Path(tmp_path_factory.mktemp("proxied")),
        kind=APACHE_5,
        settings=_SETTINGS,
        options=("--grpc", f"{LOOPBACK}:0"),
    )
    running.start()
    yield running
    running.stop()


@pytest.fixture(scope="module")
def results(request: pytest.FixtureRequest, proxied: Proxied) -> Results:
    """The results of all scenarios whose tests are chosen, by scenario and client."""
    own = [item for item in request.session.items if isinstance(item, pytest.Function)]
    params: list[Mapping[str, Any]] = [item.callspec.params for item in own if item.function is test_scenario]
    return run_through(proxied, [(each["scenario"], each["client"]) for each in params])


def run_through(proxied: Proxied, chosen: list[tuple[Scenario, str]]) -> Results:
    """Run scenarios with clients through a proxy; their results."""
    clients = {client: adapters()[client] for _, client in chosen}
    helper = adapters()[f"java-{USUAL}"]
    for adapter in {*clients.values(), helper}:
        adapter.prepare(Engine.HOST)
    assert proxied.proxy.grpc is not None
    facts = probe(Access(namesrv=proxied.namesrv, grpc=proxied.proxy.grpc))
    tasks = [
        Task(
            scenario=scenario,
            client=client,
            side=Side.ENDPOINT,
            reason=not_offered(scenario, clients[client], facts, security=frozenset(), helper=helper),
        )
        for scenario, client in sorted(chosen, key=lambda each: -each[0].limit)
    ]
    settings = Settings(engine=Engine.HOST, clients=clients, helper=helper, sides={Side.ENDPOINT: facts}, jobs=_JOBS)
    found = Run(settings=settings, tasks=tasks).run(lambda _: None)
    return {(each.scenario, each.client): each for each in found}


@pytest.mark.parametrize(("scenario", "client"), sdk_cases("java-grpc-5.2.0", _CHOSEN))
def test_scenario(scenario: Scenario, client: str, results: Results) -> None:
    result = results[scenario.id, client]
    assert result.outcome in {Outcome.PASS, Outcome.FLAKY}, result.attempts[-1].error
