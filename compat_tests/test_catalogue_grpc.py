"""The catalogue. Clients of 5.x.

The scenarios mostly wait, so all of them run beside each other once, as `rocketwire compat run` has them; each test
looks at one result.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from compat_tests.cases import sdk_cases
from compat_tests.endpoints import Rocketwire
from compat_tests.sdk_runs import Results, params_of, results_of
from rocketwire.compat.brokers.endpoint import ApacheProxy
from rocketwire.compat.results import Outcome, Result
from rocketwire.compat.scenario import Scenario

_JOBS = 6


@pytest.fixture(scope="module")
def results(request: pytest.FixtureRequest, swift_grpc: Rocketwire | ApacheProxy) -> Results:
    """The results of all scenarios whose tests are chosen, by scenario and client."""
    chosen = [(each["scenario"], each["client"]) for each in params_of(request, test_scenario)]
    return results_of(chosen, namesrv=swift_grpc.namesrv, grpc=swift_grpc.grpc, jobs=_JOBS)


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
