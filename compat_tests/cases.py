"""The catalogue as tests: which scenarios run with which Java clients, and at which endpoint.

Users run every scenario with every client that can (`rocketwire compat run`). Here each version runs what depends on
the version, 4.9.7 everything else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Final

import pytest

from rocketwire.compat.brokers.endpoint import Endpoint
from rocketwire.compat.case import Case, NotPossible
from rocketwire.compat.clients.adapter import Adapter
from rocketwire.compat.clients.client import Client, Clients
from rocketwire.compat.clients.registry import adapters
from rocketwire.compat.endpoint import Access, Facts
from rocketwire.compat.engine.plan import not_offered
from rocketwire.compat.engine.probe import probe
from rocketwire.compat.environment.artifacts import CLIENT_VERSIONS
from rocketwire.compat.scenario import Need, Scenario, catalogue

ALL: Final = tuple(CLIENT_VERSIONS)
SINCE_4_6: Final = ("4.9.7", "5.5.0")
USUAL: Final = "4.9.7"
#: By feature or by id, the latter counting more.
_VERSIONS: Final = {
    "send": ALL,
    "topic": ALL,
    "pull": ALL,
    "push": ALL,
    "broadcast": ALL,
    "group": ALL,
    "query": ALL,
    "request": SINCE_4_6,
    "order.one-at-a-time": ALL,
    "order.queues-handed-on": ALL,
    "offset.queues-and-times": ALL,
    "offset.begin-in-old-queue": ALL,
    "retry.comes-again": ALL,
    "transaction.checked": ("4.4.0", "5.5.0"),
}
#: What an endpoint needs -> the fixture with one that has it; the first that fits.
_ENDPOINTS: Final = (
    (Need.AGED_QUEUES, "aged"),
    (Need.LONG_PULLS, "generous"),
    (Need.SHORT_DELAYS, "swift"),
    (Need.SHORT_TRANSACTIONS, "swift"),
    (Need.DELAYS_KNOWN, "swift"),
    (Need.SQL, "swift"),
    (Need.RECALL, "swift"),
)


def cases(*features: str) -> list[object]:
    """The scenarios of some features, each with its clients, for `pytest.mark.parametrize`."""
    return [
        pytest.param(each, f"java-{version}", id=f"{each.id}-{version}")
        for each in catalogue().values()
        if each.feature in features
        for version in _versions(each)
    ]


def _versions(scenario: Scenario) -> list[str]:
    wanted = _VERSIONS.get(scenario.id, _VERSIONS.get(scenario.feature, (USUAL,)))
    if scenario.clients:
        wanted = tuple(client.removeprefix("java-") for client in scenario.clients)
    return [each for each in wanted if set(scenario.programs) <= adapters()[f"java-{each}"].programs]


def endpoint_of(scenario: Scenario) -> str:
    """The fixture with the endpoint that a scenario runs at."""
    return next((fixture for need, fixture in _ENDPOINTS if need in scenario.needs), "endpoint")


#: Clients of 5.x, and what each runs here: everything, or what depends on the client. The others take minutes to build.
_SDKS: Final[Mapping[str, tuple[str, ...]]] = {
    "java-grpc-5.2.0": ("*",),
    "java-grpc-5.0.7": ("grpc-send.normal", "grpc-simple.woken", "grpc-push.each-once"),
    "python-grpc-5.1.2": (
        "grpc-send.*",
        "grpc-simple.late-acknowledgement",
        "grpc-push.each-once",
        "grpc-push.comes-again",
        "grpc-fifo.failing-keeps-order",
        "grpc-fifo.given-up",
        "grpc-delay.*",
        "grpc-transaction.checked",
        "grpc-filter.comes-again",
    ),
}


def sdk_cases(only: str = "", chosen: Sequence[str] = ("*",)) -> list[object]:
    """The scenarios for clients of 5.x, each with its clients, for `pytest.mark.parametrize`.

    `only`: of this client; `chosen`: those whose ids match one of these.
    """
    return [
        pytest.param(each, client, id=f"{each.id}-{client}")
        for client, globs in _SDKS.items()
        if only in {"", client}
        for each in catalogue().values()
        if each.grpc and any(fnmatchcase(each.id, glob) for glob in globs)
        if any(fnmatchcase(each.id, glob) for glob in chosen)
        if set(each.programs) <= adapters()[client].programs
    ]


def program_cases() -> list[object]:
    """For each client of 4.x but the Java one a few scenarios that use all of its programs."""
    return [
        pytest.param(catalogue()[each], client.id, id=f"{each}-{client.id}")
        for client in adapters().values()
        if not client.grpc and not client.id.startswith("java-")
        for each in _covering(client)
    ]


def _covering(client: Adapter) -> list[str]:
    """Ids of scenarios that use all programs of a client, and that the endpoint `swift` offers."""
    runs = [
        each
        for each in catalogue().values()
        if set(each.programs) <= client.programs and each.id not in client.lacks and not each.clients
        if endpoint_of(each) in {"swift", "endpoint"}
    ]
    found: list[str] = []
    left = set(client.programs)
    while gains := {each.id: len(left & set(each.programs)) for each in runs if left & set(each.programs)}:
        found.append(max(gains, key=gains.__getitem__))
        left -= set(catalogue()[found[-1]].programs)
    return found


_KNOWN: Final[list[tuple[Endpoint, Facts]]] = []


def facts_of(endpoint: Endpoint) -> Facts:
    """What is known of an endpoint, probed once; another one may have its address later."""
    for known, facts in _KNOWN:
        if known is endpoint:
            return facts
    _KNOWN.append((endpoint, probe(Access(namesrv=endpoint.namesrv))))
    return _KNOWN[-1][1]


def check(scenario: Scenario, client: str, *, clients: Clients, endpoint: Endpoint, prefix: str) -> None:
    """Run a scenario; a test of pytest's fails or is skipped by what it raises."""
    facts = facts_of(endpoint)
    helper = adapters()[f"java-{USUAL}"]
    adapter = adapters()[client]
    reason = not_offered(scenario, adapter, facts, security=frozenset(), helper=helper)
    if reason:
        assert not facts.is_rocketwire, reason  # it offers all
        pytest.skip(reason)
    case = Case(
        client=Client(clients=clients, id=client, namesrv=endpoint.namesrv),
        offered=adapter.programs,
        helper=Client(clients=clients, id=helper.id, namesrv=endpoint.namesrv),
        endpoint=facts,
        prefix=prefix,
    )
    try:
        scenario.run(case)
    except NotPossible as error:
        if facts.is_rocketwire:
            raise
        pytest.xfail(str(error))
