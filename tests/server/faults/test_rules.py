"""Which rule matches which request, and how often."""

from __future__ import annotations

import logging
from collections.abc import Callable
from random import Random

import pytest

from rocketwire.server.core.metrics import Metrics
from rocketwire.server.faults.grammar import parse_rule
from rocketwire.server.faults.rule import MOST_RULES, ListenerName
from rocketwire.server.faults.rules import FaultRules, TooManyRules
from rocketwire.wire.header import Header

BROKER, NAME_SERVER = ListenerName.BROKER, ListenerName.NAME_SERVER


def never(bound: int) -> int:
    return bound - 1


def rules(*texts: str, choose: Callable[[int], int] = never) -> FaultRules:
    return FaultRules([parse_rule(text) for text in texts], choose=choose, metrics=Metrics())


def matched(
    found: FaultRules,
    code: int,
    ext: dict[str, str] | None = None,
    *,
    own: bool = False,
    listener: ListenerName = BROKER,
) -> str | None:
    """The action of the rule that matches, if one does."""
    action = found.match(listener, Header(code=code, opaque=1, ext=ext), b"", own=own)
    return None if action is None else action.NAME


def test_without_a_rule_nothing_is_active() -> None:
    assert not rules().active


def test_the_first_rule_that_matches_wins() -> None:
    found = rules("drop,code=10", "delay:1", "disconnect")
    assert [matched(found, code) for code in (10, 11, 310)] == ["drop", "delay", "delay"]
    assert [each.matches for each in found] == [1, 2, 0]


def test_all_conditions_must_match() -> None:
    found = rules("drop,code=11,topic=T,group=G,listener=broker")
    fields = {"topic": "T", "consumerGroup": "G"}
    assert matched(found, 11, fields) == "drop"
    assert matched(found, 12, fields) is None
    assert matched(found, 11, {**fields, "topic": "U"}) is None
    assert matched(found, 11, {**fields, "consumerGroup": "H"}) is None
    assert matched(found, 11, fields, listener=NAME_SERVER) is None


def test_the_rate_is_random_and_other_rules_may_match() -> None:
    found = rules("drop,rate=0.1", "delay:1,rate=0.5", choose=Random(7).randrange)
    results = [matched(found, 10) for _ in range(10_000)]
    assert 900 < results.count("drop") < 1100
    assert 4300 < results.count("delay") < 4700  # half of the rest


def test_a_rate_of_zero_matches_nothing() -> None:
    assert matched(rules("drop,rate=0", choose=lambda _: 0), 10) is None


def test_a_rule_that_has_matched_its_count_ends(caplog: pytest.LogCaptureFixture) -> None:
    found = rules("drop,count=2", "delay:1,count=1")
    assert [matched(found, 10) for _ in range(4)] == ["drop", "drop", "delay", None]
    assert not found.active
    assert [each.spent for each in found] == [True, True]
    assert "fault 1 has struck 2 times and is spent" in caplog.text


def test_rules_are_added_and_removed(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    found = rules("drop,code=10")
    found.add_all([parse_rule("delay:1")])
    assert matched(found, 10) == "drop"
    assert found.remove(1)
    assert not found.remove(1)
    assert matched(found, 10) == "delay"
    activity = [found.active, found.remove(2), found.active]
    assert activity == [True, True, False]
    assert [record.getMessage() for record in caplog.records] == [
        "fault 1 is in force: drop:request,code=SEND_MESSAGE",
        "fault 2 is in force: delay:1:request",
        "fault 1 is removed, it struck 1 times: drop:request,code=SEND_MESSAGE",
        "fault 2 is removed, it struck 1 times: delay:1:request",
    ]


def test_ids_are_not_reused() -> None:
    found = rules("drop")
    found.remove(1)
    assert [each.number for each in found.add_all([parse_rule("drop")])] == [2]


def test_matches_are_counted_by_action() -> None:
    metrics = Metrics()
    found = FaultRules([parse_rule("drop,count=2"), parse_rule("delay:1")], choose=never, metrics=metrics)
    for _ in range(3):
        matched(found, 10)
    assert metrics.faults == {"drop": 2, "delay": 1}


def test_the_servers_requests_are_matched_by_name_only() -> None:
    found = rules("disconnect,code=40|309", "drop")
    assert matched(found, 40, own=True) == "disconnect"
    assert matched(found, 39, own=True) is None
    assert matched(found, 309, own=True) is None  # where it comes in, it is
    assert matched(found, 309) == "disconnect"
    assert matched(found, 40) == "drop"  # a client's request of such a code is unknown


def test_the_number_of_rules_is_bounded_and_all_or_none_are_added() -> None:
    found = rules(*["drop"] * (MOST_RULES - 1))
    with pytest.raises(TooManyRules, match="at most 1000 fault rules may be active: remove some"):
        found.add_all([parse_rule("drop")] * 2)
    assert len(list(found)) == MOST_RULES - 1
