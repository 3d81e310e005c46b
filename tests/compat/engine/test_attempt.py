"""How an attempt is judged, and what is shown of one that did not pass."""

import sys
from collections.abc import Callable, Iterator
from types import ModuleType

import pytest

from rocketwire.compat.case import Case, NotPossible
from rocketwire.compat.clients.client import Client, Clients, Stopped
from rocketwire.compat.engine.attempt import Tried, attempt
from rocketwire.compat.results import Outcome
from rocketwire.compat.scenario import Scenario
from tests.compat.engine.fake import Script, facts, made


class Direct:
    """Starts the script."""

    def runner_command(self, client: str, env: object, name: str) -> list[str]:
        return Script().command(None, env={}, name=name)  # type: ignore[arg-type]


@pytest.fixture
def case() -> Iterator[Case]:
    with Clients(Direct()) as clients:
        client = Client(clients=clients, id="script-1", namesrv="127.0.0.1:1")
        yield Case(client=client, offered=Script().programs, helper=None, endpoint=facts(), prefix="p")


def in_catalogue(text: str) -> Scenario:
    """A scenario whose function is in a module of the catalogue, with this line as its body."""
    module = ModuleType("rocketwire.compat.scenarios.made_up")
    exec(f"def run(case):\n    answers = []\n    word = 'x' * 5000\n    {text}\n", module.__dict__)
    run: Callable[[Case], None] = module.__dict__["run"]
    return made(run)


def judged(text: str, case: Case) -> Tried:
    return attempt(in_catalogue(text), case)


def test_what_holds_passes(case: Case) -> None:
    tried = judged("case.client.run('Echo')", case)
    assert (tried.outcome, tried.reason, tried.error) == (Outcome.PASS, "", "")


def test_an_assertion_about_behaviour_differs(case: Case) -> None:
    tried = judged("assert answers == [1], 'no answer'", case)
    assert (tried.outcome, tried.reason) == (Outcome.DIFFERS, "no answer")


def test_a_missing_answer_differs(case: Case) -> None:
    tried = judged("(one,) = answers", case)
    assert tried.outcome is Outcome.DIFFERS
    assert tried.reason.startswith("ValueError: not enough values")


def test_a_client_that_throws_fails(case: Case) -> None:
    tried = judged("case.client.run('Crash')", case)
    assert tried.outcome is Outcome.FAILS
    assert "on purpose" in tried.reason


def test_a_client_that_ends_fails_and_the_next_program_gets_a_new_one(case: Case) -> None:
    tried = judged("case.client.run('Die')", case)
    assert tried.outcome is Outcome.FAILS
    assert "its process ended" in tried.reason
    assert judged("case.client.run('Echo')", case).outcome is Outcome.PASS


def test_a_client_that_does_not_end_fails(case: Case) -> None:
    tried = judged("case.client.run('Hang', within=0.5)", case)
    assert tried.outcome is Outcome.FAILS
    assert "nothing more came in time" in tried.reason


def test_what_is_not_possible_is_not_offered(case: Case) -> None:
    def run(_: Case) -> None:
        raise NotPossible("no topic can be made")

    tried = attempt(made(run), case)
    assert (tried.outcome, tried.reason, tried.error) == (Outcome.NOT_OFFERED, "no topic can be made", "")


def test_a_stopped_run_has_no_outcome(case: Case) -> None:
    case.client.clients.stop()
    with pytest.raises(Stopped):
        judged("case.client.run('Echo')", case)


def test_only_the_scenarios_variables_are_shown_and_cut(case: Case) -> None:
    secret = Client(clients=case.client.clients, id="script-1", namesrv="n", always={"secretKey": "TOP SECRET"})
    guarded = Case(client=secret, offered=frozenset(), helper=None, endpoint=facts(), prefix="p")
    tried = judged("case.client.run('Crash')", guarded)
    assert "answers = []" in tried.error
    assert "xxx ... xxx" in tried.error
    assert "x" * 400 not in tried.error
    assert "TOP SECRET" not in tried.error


def test_an_assertion_of_other_modules_is_shown_too(case: Case) -> None:
    def fails(_: Case) -> None:
        assert sys.maxsize < 0

    tried = attempt(made(fails), case)
    assert tried.outcome is Outcome.DIFFERS
    assert tried.reason
