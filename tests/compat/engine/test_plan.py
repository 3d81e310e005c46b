"""What runs, and why the rest is not offered."""

import pytest

from rocketwire.compat.clients.adapter import Adapter, Engine, Security
from rocketwire.compat.endpoint import Facts, Product
from rocketwire.compat.engine.plan import NothingChosen, chosen_clients, chosen_scenarios, not_offered, planned
from rocketwire.compat.results import Side
from rocketwire.compat.scenario import Need, Scenario, catalogue
from tests.compat.engine.fake import Script, Signing, facts, made

NOTHING: frozenset[Security] = frozenset()


def reason(scenario: Scenario, endpoint: Facts, *, adapter: Script | None = None, helper: Script | None = None) -> str:
    return not_offered(scenario, adapter or Script(), endpoint, security=NOTHING, helper=helper)


def nothing(_: object) -> None:
    pass


def test_without_needs_it_runs() -> None:
    assert reason(made(nothing, programs=("Echo",)), facts()) == ""


def test_what_settings_forbid_is_not_offered() -> None:
    needs_sql = made(nothing, needs=(Need.SQL,))
    assert reason(needs_sql, facts(sql=True)) == ""
    assert reason(needs_sql, facts(sql=False)) == "the endpoint has no filters by SQL92 (enablePropertyFilter)"


def test_what_is_not_known_is_tried_but_for_what_few_have() -> None:
    assert reason(made(nothing, needs=(Need.SQL,)), facts()) == ""
    assert reason(made(nothing, needs=(Need.TIMER,)), facts()).startswith("the endpoint has no messages with a deliv")


def test_a_program_that_the_client_lacks() -> None:
    assert reason(made(nothing, programs=("Query",)), facts()) == "the client does not offer Query"


def test_a_helping_client_does_what_happens_in_the_background() -> None:
    scenario = made(nothing, background=("SendSync",))
    assert reason(scenario, facts()) == "neither the client nor a helping one offers SendSync"
    assert reason(scenario, facts(), helper=Script("helper-1", frozenset({"SendSync"}))) == ""


def test_what_only_rocketwire_does() -> None:
    assert reason(made(nothing, ours_only=True), facts()) == "only rocketwire does this"
    assert reason(made(nothing, ours_only=True), facts(Product.ROCKETWIRE)) == ""


def test_what_is_about_another_client() -> None:
    assert reason(made(nothing, clients=("java-5.5.0",)), facts()) == "it is about java-5.5.0"


def test_a_client_that_cannot_sign() -> None:
    security = frozenset({Security.ACL, Security.TLS})
    said = not_offered(made(nothing), Script(), facts(), security=security, helper=None)
    assert said == "the client's program cannot do ACL AND TLS"
    assert not_offered(made(nothing), Signing(), facts(), security=security, helper=None) == ""


def test_tasks_are_by_client_and_the_longest_come_first() -> None:
    scenarios = [made(nothing, "send.short", limit=5.0), made(nothing, "send.long", limit=50.0)]
    clients: dict[str, Adapter] = {each.id: each for each in (Script("a-1"), Script("b-1"))}
    sides = {Side.ENDPOINT: facts(), Side.REFERENCE: facts()}
    tasks = planned(scenarios, clients, sides, security=NOTHING, helper=None)
    assert [(task.client, task.scenario.id, task.side) for task in tasks] == [
        (client, scenario, side)
        for client in ("a-1", "b-1")
        for scenario in ("send.long", "send.short")
        for side in (Side.ENDPOINT, Side.REFERENCE)
    ]


def test_scenarios_are_chosen_by_feature_and_by_pattern() -> None:
    assert chosen_scenarios() == list(catalogue().values())
    assert {each.feature for each in chosen_scenarios(["send", "pull"])} == {"send", "pull"}
    assert [each.id for each in chosen_scenarios(["send"], ["*.batch", "send.sync"])] == ["send.sync", "send.batch"]


@pytest.mark.parametrize(("features", "globs"), [(["sned"], []), ([], ["send.sink"]), (["send"], ["pull.*"])])
def test_a_choice_of_nothing_is_wrong_use(features: list[str], globs: list[str]) -> None:
    with pytest.raises(NothingChosen, match="none"):
        chosen_scenarios(features, globs)


def test_a_client_that_is_unknown_or_cannot_run_is_wrong_use(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NothingChosen, match="client cobol: there is none"):
        chosen_clients(["cobol"], Engine.HOST)
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(NothingChosen, match=r"client java-4\.9\.7: missing on this machine: java"):
        chosen_clients(["java-4.9.7"], Engine.HOST)
    with pytest.raises(NothingChosen, match="no client can run with docker"):
        chosen_clients([], Engine.DOCKER)
