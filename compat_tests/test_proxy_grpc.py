"""`rocketwire proxy` in front of Apache's brokers: what clients of 5.x do, by the scenarios of the catalogue."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from compat_tests.cases import sdk_cases
from compat_tests.proxied import ALSO_GRPC, APACHE_5, Proxied
from compat_tests.sdk_runs import Results, params_of, results_of
from rocketwire.compat.brokers.endpoint import running
from rocketwire.compat.results import Outcome
from rocketwire.compat.scenario import Scenario

JOBS = 4
_SETTINGS = {
    "transactionTimeOut": "2000",
    "transactionCheckInterval": "2000",
    "transactionCheckMax": "3",
    "enablePropertyFilter": "true",
    "recallMessageEnable": "true",
}
_CHOSEN = (
    *("grpc-send.normal", "grpc-send.batch", "grpc-fifo.one-queue", "grpc-simple.late-acknowledgement"),
    *("grpc-push.each-once", "grpc-push.comes-again", "grpc-fifo.failing-keeps-order", "grpc-delay.delivered-then"),
    *("grpc-transaction.*", "grpc-filter.*", "grpc-mixed.dead-letter"),
)
"""What a proxy could break, with one client; `rocketwire compat run --grpc PROXY` runs everything. A simple consumer is
woken at the broker that it waits at only, so `grpc-simple.woken` is for one broker."""


@pytest.fixture(scope="module")
def proxied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxied]:
    folder = tmp_path_factory.mktemp("proxied")
    with running(Proxied(folder, kind=APACHE_5, settings=_SETTINGS, options=ALSO_GRPC)) as made:
        yield made


@pytest.fixture(scope="module")
def results(request: pytest.FixtureRequest, proxied: Proxied) -> Results:
    """The results of all scenarios whose tests are chosen, by scenario and client."""
    chosen = [(each["scenario"], each["client"]) for each in params_of(request, test_scenario)]
    return results_of(chosen, namesrv=proxied.namesrv, grpc=proxied.grpc, jobs=JOBS)


@pytest.mark.parametrize(("scenario", "client"), sdk_cases("java-grpc-5.2.0", _CHOSEN))
def test_scenario(scenario: Scenario, client: str, results: Results) -> None:
    result = results[scenario.id, client]
    assert result.outcome in {Outcome.PASS, Outcome.FLAKY}, result.attempts[-1].error
