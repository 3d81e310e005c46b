from __future__ import annotations

from pathlib import Path

import pytest

from rocketwire.server.config import ServerConfig
from rocketwire.server.errors import FilterTypeUnsupported, SubscriptionInvalid
from rocketwire.server.filters import EVERYTHING
from rocketwire.server.filters.consumer_filters import ConsumerFilters
from rocketwire.server.filters.selection import check, of_group, of_request
from rocketwire.store.consumer_filters import ConsumerFilterTable
from tests.server.harness import Clock, subscription

CONFIG = ServerConfig()


@pytest.fixture
def filters(tmp_path: Path) -> ConsumerFilters:
    return ConsumerFilters(ConsumerFilterTable.open(tmp_path / "consumerFilter.json"), Clock())


def test_pulls_that_want_everything_ask_nothing(filters: ConsumerFilters) -> None:
    assert of_request(CONFIG, "*", "TAG") is EVERYTHING
    assert of_group(CONFIG, filters, "G", subscription("T"), 1) is EVERYTHING


def test_tags_are_asked_of_the_queue_alone(filters: ConsumerFilters) -> None:
    for wanted in (of_request(CONFIG, "A", "TAG"), of_group(CONFIG, filters, "G", subscription("T", "A"), 1)):
        assert wanted.by_code is not None
        assert wanted.by_properties is None


def test_sql_is_asked_of_the_record_alone(filters: ConsumerFilters) -> None:
    subscribed = subscription("T", "a = 1", expression_type="SQL92")
    filters.register("G", [subscribed])
    for wanted in (of_request(CONFIG, "a = 1", "SQL92"), of_group(CONFIG, filters, "G", subscribed, 1)):
        assert wanted.by_code is None
        assert wanted.by_properties is not None
        assert wanted.by_properties(b"a\x011")


@pytest.mark.parametrize(
    ("expression", "kind"), [("a = 1", "SQL92"), ("A || B", "TAG"), ("*", None), (None, ""), ("a b", "SQL92")]
)
def test_good_subscriptions(expression: str | None, kind: str | None) -> None:
    check(CONFIG, expression, kind)


@pytest.mark.parametrize(("expression", "kind"), [("a >", "SQL92"), (None, "SQL92"), ("||", "TAG"), ("a", "CLASS")])
def test_bad_subscriptions(expression: str | None, kind: str | None) -> None:
    with pytest.raises(SubscriptionInvalid):
        check(CONFIG, expression, kind)


def test_only_tags_when_filters_are_switched_off() -> None:
    config = ServerConfig(enable_property_filter=False)
    check(config, "A", "TAG")
    with pytest.raises(FilterTypeUnsupported, match=r"filter message by SQL92$"):
        check(config, "a = 1", "SQL92")
