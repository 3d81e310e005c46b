from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest
import trio

from rocketwire.server.core.guard_errors import LimitExceeded
from rocketwire.server.filters import consumer_filters
from rocketwire.server.filters.bloom import bloom_bits
from rocketwire.server.filters.consumer_filters import Allowance, ConsumerFilters
from rocketwire.server.filters.sql import grammar
from rocketwire.server.filters.sql.nodes import Condition
from rocketwire.store.tables.consumer_filters import ConsumerFilter, ConsumerFilterTable
from rocketwire.wire.bodies.client import SubscriptionData
from tests.server.harness import NOW, Clock, mock_clock, settle, subscription

DAY = 24 * 3_600_000


class Setup:
    """Filters, the clock they have, and their file."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "consumerFilter.json"
        self.clock = Clock()
        self.start()

    def start(self) -> None:
        """Load them from the file, as a broker does."""
        self.table = ConsumerFilterTable.open(self._path)
        self.filters = ConsumerFilters(self.table, self.clock)

    def restart(self) -> None:
        self.table.persist()
        self.start()

    def register(self, group: str, subscriptions: list[SubscriptionData], allowance: Allowance | None = None) -> int:
        """Register subscriptions; returns in how many steps."""
        return len(list(self.filters.register(group, subscriptions, allowance)))

    def only(self) -> ConsumerFilter:
        (setup,) = self.table
        return setup

    def passes(self, **properties: str) -> bool:
        found = self.filters.get("T", "G")
        assert found is not None
        return found.compiled.wanted("\x02".join(f"{name}\x01{value}" for name, value in properties.items()).encode())

    def document(self) -> Any:
        self.table.persist()
        return json.loads(self._path.read_bytes())


@pytest.fixture
def setup(tmp_path: Path) -> Setup:
    return Setup(tmp_path)


def sql(expression: str, version: int = 1, topic: str = "T") -> SubscriptionData:
    return subscription(topic, expression, version, expression_type="SQL92")


def test_a_subscription_is_compiled_and_saved(setup: Setup) -> None:
    assert setup.filters.get("T", "G") is None
    setup.register("G", [subscription("%RETRY%G"), sql("a = 1", version=7)])
    assert setup.passes(a="1")
    assert not setup.passes(a="2")
    assert setup.document() == {
        "filterDataByTopic": {
            "T": {
                "groupFilterData": {
                    "G": {
                        "bloomFilterData": bloom_bits("G", "T"),
                        "bornTime": NOW,
                        "clientVersion": 7,
                        "consumerGroup": "G",
                        "dead": False,
                        "deadTime": 0,
                        "expression": "a = 1",
                        "expressionType": "SQL92",
                        "topic": "T",
                    }
                },
                "topic": "T",
            }
        }
    }


def test_an_equal_heartbeat_changes_nothing(setup: Setup) -> None:
    setup.register("G", [sql("a = 1")])
    before = setup.filters.get("T", "G")
    setup.table.persist()
    setup.clock.now += 1000
    setup.register("G", [sql("a = 1")])
    assert setup.filters.get("T", "G") == before
    assert setup.table.encode() is None


def test_subscribers_are_notified_of_changed_filters(setup: Setup) -> None:
    notified: list[None] = []
    setup.filters.changed.subscribe(lambda: notified.append(None))
    for count, subscriptions in enumerate(
        ([sql("a > 5")], [sql("a > 5", 2)], [sql("a > 6", 3)], [], [sql("a > 6", 3)], [sql("a >", 4)]), start=1
    ):
        setup.register("G", subscriptions)
        assert len(notified) == count
        setup.register("G", subscriptions)
        assert len(notified) == count


def test_a_newer_version_of_the_same_expression_is_noted(setup: Setup) -> None:
    setup.register("G", [sql("a = 1")])
    setup.clock.now += 1000
    setup.register("G", [sql("a = 1", version=2)])
    assert (setup.only().client_version, setup.only().born_time) == (2, NOW)


def test_a_newer_expression_replaces_the_older_one(setup: Setup) -> None:
    setup.register("G", [sql("a = 1")])
    setup.clock.now += 1000
    setup.register("G", [sql("a = 2", version=2)])
    assert setup.passes(a="2")
    assert (setup.only().client_version, setup.only().born_time) == (2, NOW + 1000)


def test_an_older_expression_is_ignored(setup: Setup, caplog: pytest.LogCaptureFixture) -> None:
    setup.register("G", [sql("a = 2", version=2)])
    setup.register("G", [sql("a = 1", version=1)])
    assert setup.passes(a="2")
    assert "group G, topic T: an older filter is passed over" in caplog.text


def test_a_bad_expression_is_refused(setup: Setup, caplog: pytest.LogCaptureFixture) -> None:
    setup.register("G", [sql("a >")])
    assert setup.filters.get("T", "G") is None
    assert "group G, topic T: filter not taken" in caplog.text
    assert caplog.records[-1].levelno == logging.ERROR


def test_a_bad_expression_removes_the_older_one(setup: Setup) -> None:
    setup.register("G", [sql("a = 1")])
    setup.register("G", [sql("a >", version=2)])
    assert setup.filters.get("T", "G") is None
    setup.register("G", [sql("a = 3", version=3)])
    assert setup.passes(a="3")


@pytest.mark.parametrize("kind", ["TAG", "CLASS", "sql92"])
def test_other_types_are_ignored(setup: Setup, kind: str) -> None:
    setup.register("G", [subscription("T", "a = 1", expression_type=kind)])
    assert list(setup.table) == []


def test_an_empty_expression_is_ignored(setup: Setup) -> None:
    setup.register("G", [sql("")])
    assert list(setup.table) == []


def test_a_topic_that_is_subscribed_no_more_is_dead(setup: Setup) -> None:
    setup.register("G", [sql("a = 1"), sql("b = 1", topic="U")])
    setup.register("H", [sql("a = 1")])
    setup.clock.now += 1000
    setup.register("G", [sql("b = 1", topic="U")])
    assert [(each.topic, each.consumer_group, each.dead_time) for each in setup.table] == [
        ("T", "G", NOW + 1000),
        ("T", "H", 0),
        ("U", "G", 0),
    ]


def test_a_group_without_consumers_is_dead_until_it_returns(setup: Setup) -> None:
    setup.register("G", [sql("a = 1")])
    setup.filters.unregister("unknown")
    setup.clock.now += 1000
    setup.filters.unregister("G")
    assert (setup.only().dead, setup.only().dead_time) == (True, NOW + 1000)
    setup.clock.now += 1000
    setup.filters.unregister("G")
    assert setup.only().dead_time == NOW + 1000
    assert setup.passes(a="1"), "who pulls has it still"
    setup.register("G", [sql("a = 1")])
    assert (setup.only().dead, setup.only().dead_time) == (False, 0)


def test_a_newer_version_revives_a_dead_filter(setup: Setup) -> None:
    setup.register("G", [sql("a = 1")])
    setup.clock.now += 1000
    setup.filters.unregister("G")
    setup.register("G", [sql("a = 1", version=2)])
    assert not setup.only().dead


@pytest.mark.parametrize("version", [1, 2])
async def test_a_filter_that_dies_and_returns_while_the_clock_is_behind_stays(setup: Setup, version: int) -> None:
    setup.register("G", [sql("a = 1")])
    setup.clock.now -= DAY
    setup.filters.unregister("G")
    assert setup.only().dead
    setup.register("G", [sql("a = 1", version)])
    assert (setup.only().dead, setup.only().dead_time) == (False, 0)
    setup.clock.now += 3 * DAY
    setup.filters.clean()
    assert setup.passes(a="1")


async def test_dead_filters_are_removed_after_a_day(setup: Setup) -> None:
    setup.register("G", [sql("a = 1")])
    setup.register("H", [sql("a = 1")])
    setup.clock.now += 1000
    setup.filters.unregister("G")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(setup.filters.run)
        await settle()
        for later, left in ((DAY - 1, {"G", "H"}), (1, {"H"})):
            setup.clock.now += later
            mock_clock().jump(10.0)
            await settle()
            assert {each.consumer_group for each in setup.table} == left
        nursery.cancel_scope.cancel()
    assert setup.filters.get("T", "G") is None


def test_after_a_start_all_are_dead_and_compiled_when_needed(setup: Setup) -> None:
    setup.register("G", [sql("a = 1")])
    setup.clock.now += 40_000
    setup.restart()
    assert (setup.only().dead, setup.only().dead_time) == (True, NOW + 10_000)
    assert setup.passes(a="1")
    setup.register("G", [sql("a = 1")])
    assert not setup.only().dead


def test_no_filter_dies_before_it_was_created(setup: Setup) -> None:
    setup.register("G", [sql("a = 1")])
    setup.clock.now += 5
    setup.restart()
    assert setup.only().dead_time == NOW


def test_the_time_of_death_survives_a_start(setup: Setup) -> None:
    setup.register("G", [sql("a = 1")])
    setup.clock.now += 5
    setup.filters.unregister("G")
    setup.clock.now += DAY // 2
    setup.restart()
    assert setup.only().dead_time == NOW + 5


def test_one_heartbeat_compiles_a_bounded_number_of_expressions(setup: Setup, caplog: pytest.LogCaptureFixture) -> None:
    names = ", ".join(f"'{number}'" for number in range(1000))
    topics = [f"T{number}" for number in range(5)]
    subscriptions = [sql(f"{topic} IN ({names})", topic=topic) for topic in topics]
    assert (
        sum(len(each.sub_string or "") for each in subscriptions[:2])
        < 16_384
        < sum(len(each.sub_string or "") for each in subscriptions[:3])
    )
    found = []
    for _ in range(3):
        allowance = Allowance()
        for number, each in enumerate(subscriptions):  # a group has one of them
            setup.register(f"G{number}", [each], allowance)
        found.append([each.topic for each in setup.table])
    assert found == [topics[:2], topics[:4], topics]
    assert "group G2, topic T2: the filter waits for another heartbeat" in caplog.text


def test_each_expression_is_a_step_and_one_line_tells_of_those_skipped(
    setup: Setup, caplog: pytest.LogCaptureFixture
) -> None:
    new = [sql("a = 1", topic=f"T{number}", version=2) for number in range(50)]
    assert setup.register("G", new) == 50
    assert setup.register("G", [sql("a = 2", topic=each.topic) for each in new]) == 50
    assert setup.register("H", [sql("a >", topic=each.topic) for each in new]) == 50
    assert [record.getMessage().partition(" (")[0].partition(":")[0] for record in caplog.records] == [
        "group G, topic T49",
        "group H, topic T49",
    ]
    assert "an older filter is passed over, and of 49 other topics" in caplog.text


def test_a_bad_expression_is_parsed_once(setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []
    real = grammar.parse

    def parse(text: str) -> Condition:
        parsed.append(text)
        return real(text)

    monkeypatch.setattr(grammar, "parse", parse)
    for version in range(3):
        setup.register("G", [sql("parsed_once >", version=version)])
    assert parsed == ["parsed_once >"]


def test_removed_filters_leave_no_compiled_expression(setup: Setup) -> None:
    for number in range(3):
        setup.register(f"G{number}", [sql("a = 1")])
        setup.register(f"G{number}", [sql("a >", version=2)])
    assert list(setup.table) == []
    assert setup.filters._compiled == {}


def test_a_file_with_a_bad_expression_is_loaded(setup: Setup) -> None:
    setup.table.put(ConsumerFilter(topic="T", consumer_group="G", expression="a >", expression_type="SQL92"))
    setup.restart()
    assert setup.filters.get("T", "G") is None


def test_the_number_of_filters_is_bounded(setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consumer_filters, "MOST_KEPT", 2 * (256 + 1 + 1 + 5))
    setup.register("G", [sql("a = 1"), sql("a = 2", topic="U")])
    with pytest.raises(LimitExceeded, match=r"filters=526$"):
        setup.register("H", [sql("a = 3")])
    setup.register("G", [sql("a = 4", 2), sql("a = 2", topic="U")])  # in place of the older one
    assert setup.passes(a="4")
    with pytest.raises(LimitExceeded):
        setup.register("G", [sql("a = 12", 3), sql("a = 2", topic="U")])
    setup.restart()
    with pytest.raises(LimitExceeded):
        setup.register("H", [sql("a = 3")])
    setup.clock.now += 2 * DAY
    setup.filters.clean()
    setup.register("H", [sql("a = 3")])
