"""Scenarios of the catalogue through `rocketwire proxy`, in front of several brokers of each kind.

All of them pass there as they do at the brokers themselves: `rocketwire compat run --namesrv PROXY` runs them all. Here
runs what a proxy could break.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

from compat_tests.cases import check
from compat_tests.proxied import APACHE_4, APACHE_5, BROKERS, OURS, Proxied
from compat_tests.sdk_runs import assert_passed, results_of
from rocketwire.compat.brokers.endpoint import running
from rocketwire.compat.clients.client import Clients
from rocketwire.compat.endpoint import Access
from rocketwire.compat.scenario import catalogue

_SCENARIOS: Final = {
    APACHE_4: (
        ("send.sync", "java-4.4.0"),  # it uses the port two below
        ("send.batch", "java-4.9.7"),
        ("send.too-long-for-broker", "java-4.9.7"),
        ("push.concurrent", "java-4.4.0"),
        ("push.large-bodies", "java-4.9.7"),
        ("pull.block-if-not-found", "java-4.9.7"),
        ("order.queues-handed-on", "java-4.9.7"),
        ("retry.first-try", "java-4.9.7"),
        ("transaction.at-once", "java-4.9.7"),
        ("query.by-key-and-ids", "java-4.9.7"),
        ("trace.send-and-consume", "java-4.9.7"),
        ("broadcast.to-all", "java-5.5.0"),
    ),
    APACHE_5: (
        ("send.async", "java-5.5.0"),
        ("push.concurrent", "java-4.9.7"),
        ("pop.shared-queues", "java-5.5.0"),
        ("query.by-key-and-ids", "java-5.5.0"),
    ),
    OURS: (
        ("send.async", "java-4.4.0"),
        ("push.concurrent", "java-5.5.0"),
        ("order.one-at-a-time", "java-4.9.7"),
        ("transaction.at-once", "java-5.5.0"),
        ("pull.by-tag", "java-4.9.7"),
        ("pop.fails-and-comes-again", "java-5.5.0"),  # brokers share out each other's queues
    ),
}
_OF_ONE_BROKER: Final = (
    (APACHE_4, "request.replies", "java-4.9.7"),
    (APACHE_4, "order.join-and-leave", "java-4.9.7"),
    (OURS, "request.replies", "java-5.5.0"),
)
"""Scenarios that are about the only broker of a cluster."""
_OTHERS: Final = (
    (APACHE_4, "send.sync", "go-2.1"),
    (APACHE_4, "topic.delete", "go-2.1"),
    (APACHE_4, "push.concurrent", "node"),
    (APACHE_4, "send.by-selector", "spring-4.9"),
    (OURS, "push.concurrent", "python"),
    (OURS, "push.concurrent", "go-2.1"),
)
"""Clients that are no Java clients of Apache; all their scenarios were run by hand (docs/proxy.md)."""


class _Current:
    """The proxy with the brokers that the last test used."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._stack = contextlib.ExitStack()
        self._wanted = ("", 0)
        self._made: Proxied | None = None

    def of(self, kind: str, brokers: int | None = None) -> Proxied:
        """A proxy in front of brokers of a kind, the usual number or so many; others are stopped."""
        wanted = kind, BROKERS[kind] if brokers is None else brokers
        if self._made is None or wanted != self._wanted:
            self.close()
            made = Proxied(self._folder / f"{kind}-{wanted[1]}", kind=kind, brokers=wanted[1])
            self._wanted, self._made = wanted, self._stack.enter_context(running(made))
        return self._made

    def close(self) -> None:
        """Stop all."""
        self._made = None
        self._stack.close()


@pytest.fixture(scope="module")
def current(tmp_path_factory: pytest.TempPathFactory) -> Iterator[_Current]:
    with contextlib.closing(_Current(tmp_path_factory.mktemp("proxied"))) as made:
        yield made


@pytest.mark.parametrize(
    ("kind", "scenario", "client"),
    [
        pytest.param(kind, scenario, client, id=f"{kind}-{scenario}-{client}")
        for kind, chosen in _SCENARIOS.items()
        for scenario, client in chosen
    ],
)
def test_scenario_through_the_proxy(
    current: _Current, kind: str, scenario: str, client: str, clients: Clients, unique: Callable[[str], str]
) -> None:
    check(catalogue()[scenario], client, clients=clients, endpoint=current.of(kind), prefix=unique("proxied"))


@pytest.mark.parametrize(("kind", "scenario", "client"), _OF_ONE_BROKER)
def test_scenario_of_one_broker_through_the_proxy(
    current: _Current, kind: str, scenario: str, client: str, clients: Clients, unique: Callable[[str], str]
) -> None:
    check(catalogue()[scenario], client, clients=clients, endpoint=current.of(kind, 1), prefix=unique("proxied"))


@pytest.mark.parametrize(("kind", "scenario", "client"), _OTHERS)
def test_scenario_of_another_client_through_the_proxy(current: _Current, kind: str, scenario: str, client: str) -> None:
    found = results_of([(catalogue()[scenario], client)], Access(namesrv=current.of(kind).namesrv), jobs=1)
    assert_passed(found[scenario, client])
