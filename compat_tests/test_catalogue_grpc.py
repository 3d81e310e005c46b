"""The catalogue. Clients of 5.x.

The scenarios mostly wait, so all of them run at the same time once, as in `rocketwire compat run`; each test checks one
result.
"""

from __future__ import annotations

import pytest

from compat_tests.cases import sdk_cases
from compat_tests.endpoints import Rocketwire
from compat_tests.sdk_runs import Results, assert_passed, params_of, results_of
from rocketwire.compat.brokers.endpoint import ApacheProxy
from rocketwire.compat.endpoint import Access
from rocketwire.compat.scenario import Scenario

_JOBS = 6


@pytest.fixture(scope="module")
def results(request: pytest.FixtureRequest, swift_grpc: Rocketwire | ApacheProxy) -> Results:
    """The results of all scenarios whose tests are chosen, by scenario and client."""
    chosen = [(each["scenario"], each["client"]) for each in params_of(request, test_scenario)]
    return results_of(chosen, Access(namesrv=swift_grpc.namesrv, grpc=swift_grpc.grpc), jobs=_JOBS)


@pytest.mark.parametrize(("scenario", "client"), sdk_cases())
def test_scenario(scenario: Scenario, client: str, results: Results, target: str) -> None:
    assert_passed(results[scenario.id, client], target)
