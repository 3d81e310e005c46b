"""Scenarios of the catalogue that run at the same time: each waits most of its time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import pytest

from compat_tests.cases import USUAL
from rocketwire.compat.clients.adapter import Engine, Security
from rocketwire.compat.clients.registry import adapters
from rocketwire.compat.endpoint import Access
from rocketwire.compat.engine.plan import Task, not_offered
from rocketwire.compat.engine.probe import probe
from rocketwire.compat.engine.run import Run, Settings
from rocketwire.compat.results import Outcome, Result, Side
from rocketwire.compat.scenario import Scenario

Results: TypeAlias = Mapping[tuple[str, str], Result]


def params_of(request: pytest.FixtureRequest, test: object) -> list[Mapping[str, Any]]:
    """The parameters of a test function's tests that are chosen for this run."""
    own = [item for item in request.session.items if isinstance(item, pytest.Function)]
    return [item.callspec.params for item in own if item.function is test]


def results_of(
    chosen: Sequence[tuple[Scenario, str]],
    access: Access,
    *,
    jobs: int,
    prefix: str | None = None,
    security: frozenset[Security] = frozenset(),
) -> Results:
    """Run scenarios with clients; the results by scenario and client.

    `prefix` begins all names (None: any does). `security` is what the endpoint demands.
    """
    clients = {client: adapters()[client] for _, client in chosen}
    helper = adapters()[f"java-{USUAL}"]
    for adapter in {*clients.values(), helper}:
        adapter.prepare(Engine.HOST)
    facts = probe(access)
    tasks = [
        Task(
            scenario=scenario,
            client=client,
            side=Side.ENDPOINT,
            reason=not_offered(scenario, clients[client], facts, security=security, helper=helper),
        )
        for scenario, client in sorted(chosen, key=lambda each: -each[0].limit)
    ]
    settings = Settings(
        engine=Engine.HOST, clients=clients, helper=helper, sides={Side.ENDPOINT: facts}, security=security, jobs=jobs
    )
    run = Run(settings=settings, tasks=tasks) if prefix is None else Run(settings=settings, tasks=tasks, prefix=prefix)
    found = run.run(lambda _: None)
    return {(each.scenario, each.client): each for each in found}


def assert_passed(result: Result, target: str = "rocketwire") -> None:
    """The scenario passed, at its first attempt or at a later one. What Apache does not offer is skipped."""
    if result.outcome is Outcome.NOT_OFFERED and target != "rocketwire":
        pytest.skip(result.reason)
    assert result.outcome in {Outcome.PASS, Outcome.FLAKY}, result.reason or result.attempts[-1].error
