"""The catalogue. Clients of 4.x besides Apache's Java client: a few scenarios that use each of their programs."""

from __future__ import annotations

import pytest

from compat_tests.cases import program_cases
from compat_tests.sdk_runs import Results, assert_passed, params_of, results_of
from rocketwire.compat.brokers.endpoint import Endpoint
from rocketwire.compat.endpoint import Access
from rocketwire.compat.scenario import Scenario

_JOBS = 2


@pytest.fixture(scope="module")
def results(request: pytest.FixtureRequest, swift: Endpoint) -> Results:
    """The results of all scenarios whose tests are chosen, by scenario and client."""
    chosen = [(each["scenario"], each["client"]) for each in params_of(request, test_scenario)]
    return results_of(chosen, Access(namesrv=swift.namesrv), jobs=_JOBS)


@pytest.mark.parametrize(("scenario", "client"), program_cases())
def test_scenario(scenario: Scenario, client: str, results: Results, target: str) -> None:
    assert_passed(results[scenario.id, client], target)
