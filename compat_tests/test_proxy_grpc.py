"""`rocketwire proxy` in front of Apache's brokers: what clients of 5.x do, by the scenarios of the catalogue.

Brokers of 4.9 have no POP, and know neither groups in order nor delivery times: the proxy pulls, its configuration says
which groups are in order, and a delivery time becomes a delay level of the brokers'.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from itertools import product
from typing import Final

import pytest

from compat_tests.endpoints import SWIFT
from compat_tests.proxied import ALSO_GRPC, APACHE_4, APACHE_5, Proxied
from compat_tests.sdk_runs import Results, assert_passed, params_of, results_of
from rocketwire.compat.brokers.endpoint import running
from rocketwire.compat.case import Case
from rocketwire.compat.clients.registry import adapters
from rocketwire.compat.endpoint import Access
from rocketwire.compat.messages import Outgoing
from rocketwire.compat.scenario import Scenario, catalogue
from rocketwire.compat.sdk import LATE, publish, push

_CLIENT: Final = "java-grpc-5.2.0"
_PREFIX: Final = "ordered"
_IN_ORDER: Final = "4.9.7 in order"
_SETTINGS: Final = {key: value for key, value in SWIFT.items() if key != "messageDelayLevel"}
_CHOSEN: Final[Mapping[str, tuple[str, ...]]] = {
    APACHE_5: (
        *("grpc-send.normal", "grpc-send.batch", "grpc-fifo.one-queue", "grpc-simple.late-acknowledgement"),
        *("grpc-push.each-once", "grpc-push.comes-again", "grpc-fifo.failing-keeps-order", "grpc-delay.delivered-then"),
        *("grpc-transaction.*", "grpc-filter.*", "grpc-mixed.dead-letter"),
    ),
    APACHE_4: (
        *("grpc-send.normal", "grpc-simple.acknowledged", "grpc-simple.comes-again", "grpc-simple.shared"),
        *("grpc-simple.invisible-time-changed", "grpc-simple.late-acknowledgement", "grpc-mixed.dead-letter"),
        *("grpc-push.each-once", "grpc-push.comes-again", "grpc-push.dead-letter"),
        *("grpc-transaction.*", "grpc-filter.*"),
    ),
    _IN_ORDER: (
        *("grpc-fifo.push-in-order", "grpc-fifo.failing-keeps-order", "grpc-fifo.given-up"),
        *("grpc-fifo.simple-waits-for-acknowledgement", "grpc-delay.delivered-then"),
    ),
}
"""What a proxy could break, with one client; `rocketwire compat run --grpc PROXY` runs everything. A simple consumer is
woken at the broker that it waits at only, so `grpc-simple.woken` is for one broker."""


def _ids(kind: str) -> list[str]:
    offered = [each for each in catalogue().values() if set(each.programs) <= adapters()[_CLIENT].programs]
    return [each.id for each in offered if any(fnmatchcase(each.id, glob) for glob in _CHOSEN[kind])]


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


def _groups(scenarios: int) -> str:
    """What the groups of consumers are called, whichever of the scenarios is whose, at the first and second attempt."""
    client = _CLIENT.replace(".", "-")
    return ",".join(f"{_PREFIX}_{client}_{number}{how}_group_1" for number, how in product(range(scenarios), "ex"))


def _scenario(kind: str, name: str) -> Scenario:
    found = catalogue()[name]
    if kind == _IN_ORDER and name == "grpc-delay.delivered-then":
        return replace(found, needs=(), run=_delivered_then)
    return found


@pytest.fixture(scope="module")
def results(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Results]:
    """The results of all scenarios whose tests are chosen, by kind of cluster."""
    chosen: dict[str, list[tuple[Scenario, str]]] = {}
    for each in params_of(request, test_scenario):
        chosen.setdefault(each["kind"], []).append((_scenario(each["kind"], each["scenario"]), _CLIENT))
    found = {}
    for kind, scenarios in chosen.items():
        options, settings = [*ALSO_GRPC], _SETTINGS
        if kind == _IN_ORDER:
            options += ["--set", f"orderedGroups={_groups(len(scenarios))}"]
            # A level for any delivery time, however long a busy machine takes to send the message.
            settings = {"messageDelayLevel": " ".join(f"{seconds}s" for seconds in range(1, 19))}
        version = APACHE_4 if kind == _IN_ORDER else kind
        folder = tmp_path_factory.mktemp("proxied")
        with running(Proxied(folder, kind=version, settings=settings, options=options)) as proxied:
            found[kind] = results_of(
                scenarios,
                Access(namesrv=proxied.namesrv, grpc=proxied.grpc),
                jobs=4,
                prefix=_PREFIX if kind == _IN_ORDER else None,
            )
    return found


@pytest.mark.parametrize(("kind", "scenario"), [(kind, each) for kind in _CHOSEN for each in _ids(kind)])
def test_scenario(kind: str, scenario: str, results: Mapping[str, Results]) -> None:
    assert_passed(results[kind][scenario, _CLIENT])
