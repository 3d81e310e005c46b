from typing import Any

import pytest

from rocketwire.compat.report.merge import merged
from rocketwire.compat.results import Endpoint, Outcome, Reference, Results, ResultsInvalid, check
from tests.compat.report.examples import STARTED, large, small


def changed(run: Results, /, **fields: Any) -> Results:
    return Results(**({name: getattr(run, name) for name in run.__struct_fields__} | fields))


def test_one_run_stays_as_it_is() -> None:
    assert merged([large(clients=1)]) == large(clients=1)


def test_runs_of_single_clients_make_the_whole() -> None:
    whole = large(clients=3)
    parts = [
        changed(
            whole,
            clients=(client,),
            results=tuple(each for each in whole.results if each.client == client.id),
            started=STARTED + place,
        )
        for place, client in enumerate(whole.clients)
    ]
    found = merged(parts)
    check(found)
    assert changed(found, results=(), seconds=whole.seconds) == changed(whole, results=())
    assert found.seconds == 3 * whole.seconds
    order = {(each.scenario, each.client, each.side): each for each in found.results}
    assert order == {(each.scenario, each.client, each.side): each for each in whole.results}


def test_of_the_same_cell_the_later_run_counts() -> None:
    first = small(Outcome.FAILS, Outcome.PASS)
    later = changed(small(Outcome.PASS), started=STARTED + 1)
    for runs in ([first, later], [later, first]):
        found = merged(runs)
        assert [each.outcome for each in found.results] == [Outcome.PASS, Outcome.PASS]
        assert found.started == STARTED


def test_a_reference_may_be_in_one_run_only() -> None:
    found = merged([small(Outcome.PASS), small(Outcome.PASS, reference=True)])
    assert found.reference == Reference(name="Apache RocketMQ 4.9.7")


def test_settings_are_shown_once() -> None:
    runs = [
        changed(small(Outcome.PASS), endpoint=Endpoint(namesrv=str(place), name="e", settings=settings))
        for place, settings in enumerate([("SQL on", "ACL off"), ("ACL off", "TLS on")])
    ]
    assert merged(runs).endpoint == Endpoint(namesrv="0", name="e", settings=("SQL on", "ACL off", "TLS on"))


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"endpoint": Endpoint(namesrv="", name="other")}, "different endpoints: other, rocketwire 0.1.0"),
        ({"version": "0.2.0"}, "different versions of rocketwire: 0.1.0, 0.2.0"),
        ({"reference": Reference(name="other")}, "different references: Apache RocketMQ 4.9.7, other"),
    ],
)
def test_what_does_not_belong_together_is_refused(other: dict[str, Any], said: str) -> None:
    run = small(Outcome.PASS, reference=True)
    with pytest.raises(ResultsInvalid, match=said):
        merged([run, changed(run, **other)])


def test_nothing_is_refused() -> None:
    with pytest.raises(ResultsInvalid, match="there are no results"):
        merged([])
