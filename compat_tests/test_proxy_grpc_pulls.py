"""`rocketwire proxy` in front of Apache's brokers of 4.9, which have no POP: what clients of 5.x do, by scenarios."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from compat_tests.proxied import APACHE_4, Proxied
from compat_tests.test_proxy_grpc import Results, run_through
from rocketwire.compat.brokers.ports import LOOPBACK
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
    running = Proxied(
        Path(tmp_path_factory.mktemp("proxied")),
        kind=APACHE_4,
        settings=_SETTINGS,
        options=("--grpc", f"{LOOPBACK}:0"),
    )
    running.start()
    yield running
    running.stop()


@pytest.fixture(scope="module")
def results(request: pytest.FixtureRequest, proxied: Proxied) -> Results:
    """The results of all scenarios whose tests are chosen."""
    own = [item for item in request.session.items if isinstance(item, pytest.Function)]
    chosen = [str(item.callspec.params["scenario"]) for item in own if item.function is test_scenario]
    return run_through(proxied, [(catalogue()[each], _CLIENT) for each in chosen])


@pytest.mark.parametrize("scenario", _SCENARIOS)
def test_scenario(scenario: str, results: Results) -> None:
    result = results[scenario, _CLIENT]
    assert result.outcome in {Outcome.PASS, Outcome.FLAKY}, result.attempts[-1].error
