"""The catalogue. Clients of 5.x.

The scenarios mostly wait, so all of them run beside each other once, as `rocketwire compat run` has them; each test
looks at one result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import pytest

from compat_tests.cases import USUAL, sdk_cases
from compat_tests.endpoints import Rocketwire
from rocketwire.compat.brokers.endpoint import ApacheProxy
from rocketwire.compat.clients.adapter import Engine
from rocketwire.compat.clients.registry import adapters
from rocketwire.compat.endpoint import Access
from rocketwire.compat.engine.plan import Task, not_offered
from rocketwire.compat.engine.probe import probe
from rocketwire.compat.engine.run import Run, Settings
from rocketwire.compat.results import Outcome, Result, Side
from rocketwire.compat.scenario import Scenario

_JOBS = 6

Results: TypeAlias = Mapping[tuple[str, str], Result]


@pytest.fixture(scope="module")
def results(request: pytest.FixtureRequest, swift_grpc: Rocketwire | ApacheProxy) -> Results:
    """The results of all scenarios whose tests are chosen, by scenario and client."""
    own = [item for item in request.session.items if isinstance(item, pytest.Function)]
    params: list[Mapping[str, Any]] = [item.callspec.params for item in own if item.function is test_scenario]
    chosen: list[tuple[Scenario, str]] = [(each["scenario"], each["client"]) for each in params]
    clients = {client: adapters()[client] for _, client in chosen}
    helper = adapters()[f"java-{USUAL}"]
    for adapter in {*clients.values(), helper}:
        adapter.prepare(Engine.HOST)
    facts = probe(Access(namesrv=swift_grpc.namesrv, grpc=swift_grpc.grpc))
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


@pytest.mark.parametrize(("scenario", "client"), sdk_cases())
def test_scenario(scenario: Scenario, client: str, results: Results, only_offered: Callable[[Result], None]) -> None:
    result = results[scenario.id, client]
    only_offered(result)
    assert result.outcome in {Outcome.PASS, Outcome.FLAKY}, result.attempts[-1].error


@pytest.fixture
def only_offered(target: str) -> Callable[[Result], None]:
    """Skip what Apache does not offer; rocketwire offers all."""

    def look(result: Result) -> None:
        if result.outcome is Outcome.NOT_OFFERED and target != "rocketwire":
            pytest.skip(result.reason)

    return look
