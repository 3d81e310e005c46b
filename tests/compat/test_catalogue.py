"""The declarations of all scenarios, and of all clients."""

import re

import pytest

from rocketwire.compat.clients.adapter import Adapter, Engine
from rocketwire.compat.clients.registry import adapters
from rocketwire.compat.scenario import FEATURES, WHAT_IT_TAKES, Need, Scenario, TwoOfOneId, catalogue, modules, scenario

SCENARIOS = list(catalogue().values())
PROGRAMS = {program for each in adapters().values() for program in each.programs}
OF_TESTS = {"Collect", "GroupMembers", "Join", "LeaveAll", "SendNumbered", "SendThrough"}
"""Programs of the Java client that only tests of this repository run."""


@pytest.mark.parametrize("each", SCENARIOS, ids=lambda each: each.id)
def test_a_scenario_declares_what_it_proves_and_the_source_of_the_claim(each: Scenario) -> None:
    assert re.fullmatch(r"[a-z]+(-[a-z]+)?\.[a-z0-9-]+", each.id)
    assert each.feature in FEATURES
    assert each.id.startswith(f"{each.feature}.")
    assert re.fullmatch(r"[A-Z0-9].{20,110}\.", each.proves)
    assert len(each.source) > 10
    assert 0 < each.limit <= 300
    assert set(each.needs) <= set(Need)


@pytest.mark.parametrize("each", SCENARIOS, ids=lambda each: each.id)
def test_a_scenario_names_existing_programs_and_clients(each: Scenario) -> None:
    assert each.programs, "it is about no client"
    assert set(each.programs) | set(each.background) <= PROGRAMS
    assert not set(each.programs) & set(each.background)
    assert set(each.clients) <= set(adapters())
    able = [client for client in adapters().values() if set(each.programs) <= client.programs]
    assert able, "no client can run it"


def test_each_feature_has_scenarios_and_each_module_is_found() -> None:
    assert {each.feature for each in SCENARIOS} == set(FEATURES)
    assert {each.run.__module__ for each in SCENARIOS} == set(modules())


def test_each_need_has_a_description() -> None:
    assert set(WHAT_IT_TAKES) == set(Need)


def test_an_id_is_given_once() -> None:
    first = SCENARIOS[0]
    again = scenario(id=first.id, proves=first.proves, source=first.source)
    with pytest.raises(TwoOfOneId, match=re.escape(first.id)):
        again(first.run)


def test_scenarios_come_in_the_order_of_their_features() -> None:
    order = list(FEATURES)
    places = [order.index(each.feature) for each in SCENARIOS]
    assert places == sorted(places)


@pytest.mark.parametrize("client", adapters().values(), ids=lambda client: client.id)
def test_a_client_declares_what_a_report_needs(client: object) -> None:
    adapter = adapters()[client.id]  # type: ignore[attr-defined]
    assert all((adapter.name, adapter.version, adapter.language))
    assert adapter.engines
    assert adapter.engines <= set(Engine)


@pytest.mark.parametrize("client", adapters().values(), ids=lambda client: client.id)
def test_each_program_of_a_client_is_used_by_a_scenario_that_it_runs(client: Adapter) -> None:
    runs = [each for each in SCENARIOS if each.id not in client.lacks and set(each.programs) <= client.programs]
    assert client.programs - OF_TESTS - {"Timers"} <= {program for each in runs for program in each.programs}


@pytest.mark.parametrize("client", adapters().values(), ids=lambda client: client.id)
def test_a_client_lacks_existing_scenarios_with_a_reason(client: Adapter) -> None:
    assert client.lacks.keys() <= catalogue().keys()
    assert all(client.lacks.values())


def test_what_a_machine_lacks_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    java = adapters()["java-4.9.7"]
    assert java.missing(Engine.HOST) == "missing on this machine: java, javac, mvn"
    assert java.missing(Engine.PODMAN) == "missing on this machine: podman"
    assert java.missing(Engine.DOCKER) == "missing on this machine: docker"
    assert adapters()["go-2.1"].missing(Engine.DOCKER) == "does not run with docker"


def test_the_old_java_client_has_no_lite_consumer() -> None:
    assert "LiteSubscribe" not in adapters()["java-4.4.0"].programs
    assert {"LiteSubscribe", "RequestReply", "SendSync"} <= adapters()["java-4.9.7"].programs
