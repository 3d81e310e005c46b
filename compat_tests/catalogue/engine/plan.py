"""Which scenarios run with which clients, and why others are not offered."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from rocketwire.compat.clients.adapter import Adapter, Engine, Security
from rocketwire.compat.clients.registry import adapters
from rocketwire.compat.endpoint import Facts
from rocketwire.compat.results import Side
from rocketwire.compat.scenario import FEATURES, WHAT_IT_TAKES, Need, Scenario, catalogue

HELPER = "java-4.9.7"
"""The client that does what the client under test does not offer."""
_ONLY_WHERE_KNOWN = frozenset({Need.TIMER, Need.RECALL, Need.POP})


class NothingChosen(Exception):
    """A name of a client, feature or scenario is unknown, or nothing remains; the text lists the choices."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One scenario with one client on one side; `reason`: why it is not offered, empty if it runs."""

    scenario: Scenario
    client: str
    side: Side
    reason: str = ""


def chosen_scenarios(features: Iterable[str] = (), globs: Iterable[str] = ()) -> list[Scenario]:
    """The scenarios of these features whose ids match one of these patterns; all where none are named.

    Raises:
        NothingChosen: a feature is unknown, or a pattern matches nothing.
    """
    features, globs = list(features), list(globs)
    for feature in features:
        if feature not in FEATURES:
            raise NothingChosen(f"feature {feature}: there is none; features are {', '.join(FEATURES)}")
    every = [each for each in catalogue().values() if not features or each.feature in features]
    for glob in globs:
        if not any(fnmatchcase(each.id, glob) for each in every):
            raise NothingChosen(f"scenario {glob}: none matches; `rocketwire compat list` shows them")
    return [each for each in every if not globs or any(fnmatchcase(each.id, glob) for glob in globs)]


def chosen_clients(ids: Iterable[str], engine: Engine) -> dict[str, Adapter]:
    """The clients of these ids, or all that can run here where none are named.

    Raises:
        NothingChosen: an id is unknown, the client cannot run here, or none can.
    """
    every = adapters()
    names = list(ids)
    for name in names:
        if name not in every:
            raise NothingChosen(f"client {name}: there is none; clients are {', '.join(every)}")
        if missing := every[name].missing(engine):
            raise NothingChosen(f"client {name}: {missing}")
    found = {name: each for name, each in every.items() if (name in names if names else not each.missing(engine))}
    if not found:
        raise NothingChosen(f"no client can run with {engine} here; see `rocketwire compat list --clients`")
    return found


def not_offered(
    scenario: Scenario, adapter: Adapter, facts: Facts, *, security: frozenset[Security], helper: Adapter | None
) -> str:
    """Why a scenario does not run with a client at an endpoint: one line; empty if it runs."""
    if scenario.ours_only and not facts.is_rocketwire:
        return "only rocketwire does this"
    if scenario.clients and adapter.id not in scenario.clients:
        return f"it is about {', '.join(scenario.clients)}"
    if adapter.grpc and not facts.access.grpc:
        return "the endpoint has nothing for clients of 5.x (--grpc)"
    if reason := adapter.lacks.get(scenario.id):
        return f"the client lacks it: {reason}"
    if lacking := [program for program in scenario.programs if program not in adapter.programs]:
        return f"the client does not offer {', '.join(lacking)}"
    in_place = frozenset() if helper is None else helper.programs
    if lacking := [each for each in scenario.background if each not in adapter.programs | in_place]:
        return f"neither the client nor a helping one offers {', '.join(lacking)}"
    if lacking := sorted(security - adapter.secures):
        return f"the client's program cannot do {' and '.join(lacking).upper()}"
    for need in scenario.needs:
        if not facts.offers.get(need, need not in _ONLY_WHERE_KNOWN):
            return f"the endpoint has no {WHAT_IT_TAKES[need]}"
    return ""


def planned(
    scenarios: Sequence[Scenario],
    clients: Mapping[str, Adapter],
    sides: Mapping[Side, Facts],
    *,
    security: frozenset[Security],
    helper: Adapter | None,
) -> list[Task]:
    """All tasks: client after client, so that few processes run at once; the longest first, which others fill up.

    Scenarios for clients of 5.x are for no others, and the other way round.
    """
    return [
        Task(
            scenario=scenario,
            client=client.id,
            side=side,
            reason=not_offered(scenario, client, facts, security=security, helper=helper),
        )
        for client in clients.values()
        for scenario in sorted(scenarios, key=lambda each: -each.limit)
        if client.grpc == scenario.grpc
        for side, facts in sides.items()
    ]
