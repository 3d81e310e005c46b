from __future__ import annotations

from pathlib import Path

import pytest

from rocketwire.server.core.errors import FilterDataMissing, FilterExpressionInvalid, FilterTypeUnsupported
from rocketwire.server.core.guard_errors import LimitExceeded
from rocketwire.server.filters import EVERYTHING
from rocketwire.server.filters.consumer_filters import ConsumerFilters
from rocketwire.server.filters.keys import FilterKeys
from rocketwire.server.filters.selection import check_expression, filter_of_group, filter_of_request
from rocketwire.server.filters.sql import LEAST_TEXT
from rocketwire.server.filters.sql.code import MOST_COMPARISONS
from rocketwire.store.tables.consumer_filters import ConsumerFilterTable
from tests.server.harness import Clock, subscription

KEYS = FilterKeys()
MOST = 256 * 1024


@pytest.fixture
def filters(tmp_path: Path) -> ConsumerFilters:
    return ConsumerFilters(ConsumerFilterTable.open(tmp_path / "consumerFilter.json"), Clock())


def test_pulls_without_a_filter_check_nothing(filters: ConsumerFilters) -> None:
    assert filter_of_request(KEYS, "*", "TAG", most_bytes=MOST) is EVERYTHING
    assert filter_of_group(KEYS, filters, "G", subscription("T"), 1) is EVERYTHING


def test_tags_are_checked_by_the_queue_alone(filters: ConsumerFilters) -> None:
    for wanted in (
        filter_of_request(KEYS, "A", "TAG", most_bytes=MOST),
        filter_of_group(KEYS, filters, "G", subscription("T", "A"), 1),
    ):
        assert wanted.by_code is not None
        assert wanted.by_properties is None


def test_sql_is_checked_by_the_record_alone(filters: ConsumerFilters) -> None:
    subscribed = subscription("T", "a = 1", expression_type="SQL92")
    list(filters.register("G", [subscribed]))
    for wanted in (
        filter_of_request(KEYS, "a = 1", "SQL92", most_bytes=MOST),
        filter_of_group(KEYS, filters, "G", subscribed, 1),
    ):
        assert wanted.by_code is None
        assert wanted.by_properties is not None
        assert wanted.by_properties(b"a\x011")
        assert wanted.most_text > 1_000_000


def test_a_filter_by_class_passes_everything(filters: ConsumerFilters) -> None:
    by_class = {"class_filter_mode": True}
    assert filter_of_group(KEYS, filters, "G", subscription("T", "A", **by_class), 1) is EVERYTHING
    subscribed = subscription("T", "a = 1", expression_type="SQL92", **by_class)
    with pytest.raises(FilterDataMissing):
        filter_of_group(KEYS, filters, "G", subscribed, 1)
    list(filters.register("G", [subscribed]))
    assert filter_of_group(KEYS, filters, "G", subscribed, 1) is EVERYTHING


def test_the_costlier_an_expression_the_less_text_it_may_be_applied_to() -> None:
    few, many = (
        filter_of_request(KEYS, " OR ".join(["a = 1"] * count), "SQL92", most_bytes=MOST).most_text
        for count in (10, MOST_COMPARISONS)
    )
    assert LEAST_TEXT < many < few / 20


@pytest.mark.parametrize(
    ("expression", "kind"),
    [("a = 1", "SQL92"), ("A || B", "TAG"), ("||", "TAG"), ("*", None), (None, ""), ("a b", "SQL92")],
)
def test_valid_subscriptions_are_read(expression: str | None, kind: str | None) -> None:
    check_expression(KEYS, expression, kind)


@pytest.mark.parametrize(("expression", "kind"), [("a >", "SQL92"), (None, "SQL92"), ("a", "CLASS")])
def test_malformed_subscriptions_are_refused(expression: str | None, kind: str | None) -> None:
    with pytest.raises(FilterExpressionInvalid):
        check_expression(KEYS, expression, kind)


def test_only_tags_are_allowed_when_filters_are_switched_off() -> None:
    keys = FilterKeys(enable_property_filter=False)
    check_expression(keys, "A", "TAG")
    with pytest.raises(FilterTypeUnsupported, match=r"filter message by SQL92$"):
        check_expression(keys, "a = 1", "SQL92")


@pytest.mark.parametrize("expression_type", ["TAG", "SQL92"])
def test_a_pulls_subscription_may_be_as_long_as_a_heartbeats(expression_type: str) -> None:
    filter_of_request(KEYS, "a" * 2000, expression_type, most_bytes=2000)
    with pytest.raises(LimitExceeded, match=r"maxHeartbeatBytes=2000$"):
        filter_of_request(KEYS, "a" * 2001, expression_type, most_bytes=2000)
