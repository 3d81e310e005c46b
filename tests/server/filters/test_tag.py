from __future__ import annotations

from dataclasses import replace

import pytest

from rocketwire.server.core.errors import FilterExpressionInvalid
from rocketwire.server.filters import EVERYTHING, MessageFilter
from rocketwire.server.filters.tag import data_filter, is_tag_type, subscription_filter
from rocketwire.wire.java import string_hash
from tests.server.harness import subscription


@pytest.mark.parametrize("expression", ["*", "", None])
def test_a_star_passes_everything(expression: str | None) -> None:
    assert subscription_filter(expression) == EVERYTHING


@pytest.mark.parametrize("expression", ["A||B", "A || B", " A || || B ", "A||B||"])
def test_the_named_tags_pass(expression: str) -> None:
    wanted = subscription_filter(expression)
    assert wanted.by_properties is None
    assert wanted.by_code is not None
    assert [wanted.by_code(string_hash(tag)) for tag in ("A", "B", "C", "")] == [True, True, False, False]


def test_tags_with_equal_hash_codes_pass_for_the_client_to_compare() -> None:
    assert string_hash("AaAa") == string_hash("BBBB") == string_hash("AaBB")
    wanted = subscription_filter("AaAa")
    assert wanted.by_code is not None
    assert wanted.by_code(string_hash("BBBB"))


@pytest.mark.parametrize(("expression", "kind"), [("||", "TAG"), ("||||", None), ("", ""), (None, "")])
def test_malformed_expressions_are_refused(expression: str | None, kind: str | None) -> None:
    with pytest.raises(FilterExpressionInvalid, match=r"^parse the consumer's subscription failed$"):
        subscription_filter(expression, kind)


def codes(wanted: MessageFilter, *tags: str) -> list[bool]:
    assert wanted.by_code is not None
    return [wanted.by_code(string_hash(tag)) for tag in tags]


@pytest.mark.parametrize("expression", [" ", "|| ||", "\x01\t"])
def test_a_message_without_a_tag_does_not_pass(expression: str) -> None:
    assert codes(subscription_filter(expression), "A", "", expression) == [False, False, False]


def test_an_empty_type_names_no_tags() -> None:
    assert subscription_filter("*", "") == EVERYTHING
    assert codes(subscription_filter("A", ""), "A") == [False]


@pytest.mark.parametrize(
    ("expression", "tag"), [("\u3000t", "\u3000t"), ("a\u00a0||b", "a\u00a0"), ("t\x01", "t"), ("\0 t\x1f||b", "t")]
)
def test_blanks_are_trimmed_as_by_java(expression: str, tag: str) -> None:
    assert codes(subscription_filter(expression), tag, expression) == [True, tag == expression]


def test_a_heartbeats_codes_decide() -> None:
    assert data_filter(subscription("T")) == EVERYTHING
    assert data_filter(replace(subscription("T", "A"), class_filter_mode=True)) == EVERYTHING
    assert codes(data_filter(replace(subscription("T", "A"), code_set=frozenset())), "A", "") == [False, False]
    wanted = data_filter(subscription("T", "A"))
    assert wanted.by_code is not None
    assert wanted.by_code(string_hash("A"))
    assert not wanted.by_code(string_hash("B"))


@pytest.mark.parametrize(
    ("kind", "of_tags"), [("TAG", True), ("", True), (None, True), ("SQL92", False), ("tag", False)]
)
def test_the_type_says_whether_an_expression_names_tags(kind: str | None, of_tags: bool) -> None:
    assert is_tag_type(kind) is of_tags


def test_pulls_with_equal_tags_share_a_filter() -> None:
    """So that held pulls with it are checked together."""
    assert subscription_filter("A || B") == subscription_filter("A || B")
    assert subscription_filter("A || B") != subscription_filter("A || C")
    long = "||".join(f"tag-{number}" for number in range(200))
    first = subscription_filter(long)
    assert subscription_filter(long) is first
    subscription_filter(long + "||B")
    assert subscription_filter(long) != first  # as much is kept of the last one only
    assert codes(subscription_filter(long), "tag-199", "A") == [True, False]
