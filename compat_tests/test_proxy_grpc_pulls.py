"""`rocketwire proxy` in front of Apache's brokers of 4.9, which have no POP: what clients of 5.x do, by scenarios."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pytest

from compat_tests.proxied import ALSO_GRPC, APACHE_4, Proxied
from compat_tests.sdk_runs import Results, params_of, results_of
from compat_tests.test_proxy_grpc import JOBS
from rocketwire.compat.brokers.endpoint import running
from rocketwire.compat.results import Outcome
from rocketwire.compat.scenario import catalogue

_CLIENT: Final = "java-grpc-5.2.0"
_SETTINGS: Final = {
    "transactionTimeOut": "2000",
    "transactionCheckInterval": "2000",
    "transactionCheckMax": "3",
    "enablePropertyFilter": "true",
}
_SCENARIOS: Final = (
    "grpc-send.normal",
    "grpc-simple.acknowledged",
    "grpc-simple.comes-again",
    "grpc-simple.invisible-time-changed",
    "grpc-simple.late-acknowledgement",
    "grpc-simple.shared",
    "grpc-push.each-once",
    "grpc-push.comes-again",
    "grpc-push.dead-letter",
    "grpc-transaction.at-once",
    "grpc-transaction.checked",
    "grpc-transaction.another-producer",
    "grpc-filter.tags",
    "grpc-filter.sql",
    "grpc-filter.comes-again",
    "grpc-mixed.dead-letter",
)


@pytest.fixture(scope="module")
def proxied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxied]:
    folder = tmp_path_factory.mktemp("proxied")
    with running(Proxied(folder, kind=APACHE_4, settings=_SETTINGS, options=ALSO_GRPC)) as made:
        yield made


@pytest.fixture(scope="module")
def results(request: pytest.FixtureRequest, proxied: Proxied) -> Results:
    """The results of all scenarios whose tests are chosen, by scenario and client."""
    chosen = [(catalogue()[each["scenario"]], _CLIENT) for each in params_of(request, test_scenario)]
    return results_of(chosen, namesrv=proxied.namesrv, grpc=proxied.grpc, jobs=JOBS)


@pytest.mark.parametrize("scenario", _SCENARIOS)
def test_scenario(scenario: str, results: Results) -> None:
    result = results[scenario, _CLIENT]
    assert result.outcome in {Outcome.PASS, Outcome.FLAKY}, result.attempts[-1].error
