from __future__ import annotations

from dataclasses import replace

import pytest

from rocketwire.server.errors import FilterTypeUnsupported, SubscriptionInvalid
from rocketwire.server.filters.tag import check_type, data_filter, subscription_filter
from rocketwire.wire.java import string_hash
from tests.server.harness import subscription


@pytest.mark.parametrize("expression", ["*", "", None])
@pytest.mark.parametrize("kind", ["TAG", "", None])
def test_everything_passes(expression: str | None, kind: str | None) -> None:
    assert subscription_filter(expression, kind) is None


@pytest.mark.parametrize("expression", ["A||B", "A || B", " A || || B ", "A||B||"])
def test_the_named_tags_pass(expression: str) -> None:
    accept = subscription_filter(expression, "TAG")
    assert accept is not None
    assert [accept(string_hash(tag)) for tag in ("A", "B", "C", "")] == [True, True, False, False]


@pytest.mark.parametrize("expression", ["||", " ", "|| ||"])
def test_an_expression_without_a_tag_is_refused(expression: str) -> None:
    with pytest.raises(SubscriptionInvalid, match=r"^parse the consumer's subscription failed$"):
        subscription_filter(expression, "TAG")


def test_a_heartbeats_subscription_goes_by_its_codes() -> None:
    assert data_filter(subscription("T")) is None
    assert data_filter(replace(subscription("T", "A"), code_set=frozenset())) is None
    accept = data_filter(subscription("T", "A"))
    assert accept is not None
    assert accept(string_hash("A"))
    assert not accept(string_hash("B"))


@pytest.mark.parametrize("kind", ["SQL92", "CLASS", "tag"])
def test_other_types_are_refused(kind: str) -> None:
    expected = rf"^The broker does not support consumer to filter message by {kind}$"
    with pytest.raises(FilterTypeUnsupported, match=expected):
        check_type(kind)
    with pytest.raises(FilterTypeUnsupported, match=expected):
        subscription_filter("a", kind)
    with pytest.raises(FilterTypeUnsupported, match=expected):
        data_filter(subscription("T", "a", expression_type=kind))
