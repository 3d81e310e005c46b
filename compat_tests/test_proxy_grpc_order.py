"""`rocketwire proxy` in front of Apache's brokers of 4.9, which know neither groups in order nor delivery times.

The proxy is told which groups are in order, and a delivery time becomes a delay level of the brokers'.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Final

import pytest

from compat_tests.proxied import ALSO_GRPC, APACHE_4, Proxied
from compat_tests.sdk_runs import Results, results_of
from rocketwire.compat.brokers.endpoint import running
from rocketwire.compat.case import Case
from rocketwire.compat.messages import Outgoing
from rocketwire.compat.results import Outcome
from rocketwire.compat.scenario import Scenario, catalogue
from rocketwire.compat.sdk import LATE, publish, push

_CLIENT: Final = "java-grpc-5.2.0"
_ORDERED: Final = (
    "grpc-fifo.push-in-order",
    "grpc-fifo.failing-keeps-order",
    "grpc-fifo.given-up",
    "grpc-fifo.simple-waits-for-acknowledgement",
)
_LEVELS: Final = " ".join(f"{seconds}s" for seconds in range(1, 19))
"""One for any delivery time, however long a busy machine takes to send the message."""
_PREFIX: Final = "ordered"


def _groups(scenarios: int) -> str:
    """What the groups of consumers are called, whichever of the scenarios is whose, at the first and second attempt."""
    client = _CLIENT.replace(".", "-")
    return ",".join(f"{_PREFIX}_{client}_{number}{how}_group_1" for number, how in product(range(scenarios), "ex"))


def _delivered_then(case: Case) -> None:
    """As the scenario whose place it takes, but a level may be half a second early, and delays begin at the broker."""
    topic, group = case.topic(2), case.consumers()
    with push(case, topic, group) as consumer:
        began = time.time() * 1000
        dues = {"in 4 s": 4000, "in 9 s": 9000, "past": -1000}
        publish(case, topic, [Outgoing(body=body, due=str(round(began + ms))) for body, ms in dues.items()])
        received = consumer.taken(3)
    assert [event["text"] for event in received] == ["past", "in 4 s", "in 9 s"]
    for event in received:
        due = began + dues[event["text"]]
        assert due - 550 <= event["at"] < max(due, began) + LATE * 1000


_SCENARIOS: Final[Mapping[str, Scenario]] = {
    **{each: catalogue()[each] for each in _ORDERED},
    "grpc-delay.delivered-then": replace(catalogue()["grpc-delay.delivered-then"], needs=(), run=_delivered_then),
}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """The results of all scenarios."""
    options = (*ALSO_GRPC, "--set", f"orderedGroups={_groups(len(_SCENARIOS))}")
    folder: Path = tmp_path_factory.mktemp("proxied")
    proxied = Proxied(folder, kind=APACHE_4, settings={"messageDelayLevel": _LEVELS}, options=options)
    with running(proxied):
        chosen = [(each, _CLIENT) for each in _SCENARIOS.values()]
        return results_of(chosen, namesrv=proxied.namesrv, grpc=proxied.grpc, jobs=len(chosen), prefix=_PREFIX)


@pytest.mark.parametrize("scenario", _SCENARIOS)
def test_scenario(scenario: str, results: Results) -> None:
    result = results[scenario, _CLIENT]
    assert result.outcome in {Outcome.PASS, Outcome.FLAKY}, result.reason or result.attempts[-1].error
