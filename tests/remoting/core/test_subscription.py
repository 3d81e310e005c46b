from __future__ import annotations

import pytest

from rocketwire.remoting.core.incoming import decode_message
from rocketwire.remoting.core.subscription import matches_tags, subscription
from rocketwire.remoting.errors import SubscriptionInvalid
from rocketwire.wire.message import MessageRecord as Record


def test_tags_have_their_hash_codes() -> None:
    by = subscription("T", tags=" TagA || TagB||", version=5)
    assert by.tags_set == {"TagA", "TagB"}
    assert by.code_set == {2598919, 2598920}
    assert (by.sub_string, by.expression_type, by.sub_version) == (" TagA || TagB||", "TAG", 5)


def test_everything_and_sql() -> None:
    assert subscription("T", version=5).tags_set == frozenset()
    by = subscription("T", sql="a > 1", version=5)
    assert (by.sub_string, by.expression_type, by.tags_set) == ("a > 1", "SQL92", frozenset())


@pytest.mark.parametrize(
    ("topic", "named"),
    [
        ("", {}),
        ("a b", {}),
        ("T", {"tags": ""}),
        ("T", {"tags": "||"}),
        ("T", {"tags": "a", "sql": "a > 1"}),
        ("T", {"sql": " "}),
    ],
)
def test_what_is_no_subscription(topic: str, named: dict[str, str]) -> None:
    with pytest.raises(SubscriptionInvalid):
        subscription(topic, version=1, **named)


def test_tags_of_equal_hash_codes_are_distinguished() -> None:
    by = subscription("T", tags="Aa", version=1)
    found = [
        decode_message(Record(topic="T", queue_id=0, body=b"x", properties=b"TAGS\x01" + tag), "b")
        for tag in (b"Aa", b"BB")
    ]
    assert [matches_tags(each, by) for each in found] == [True, False]
