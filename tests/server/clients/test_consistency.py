from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.server.clients.consistency import Subscriptions, differences
from tests.server.harness import subscription


def member(*wanted: tuple[str, str] | tuple[str, str, str]) -> Subscriptions:
    return {
        topic: subscription(topic, expression, expression_type=(*kind, "TAG")[0]) for topic, expression, *kind in wanted
    }


def found_differences(*members: tuple[str, Subscriptions]) -> list[tuple[bool, str]]:
    return [(each.matters, str(each)) for each in differences("G", members)]


def test_members_with_equal_subscriptions_agree() -> None:
    assert found_differences() == []
    assert found_differences(("a", member(("T", "A")))) == []
    assert found_differences(("a", member(("T", "A"), ("U", "*"))), ("b", member(("U", "*"), ("T", "A")))) == []


def test_a_topic_that_one_member_lacks_is_reported() -> None:
    assert found_differences(("b", member(("T", "A"))), ("c", member()), ("a", member(("T", "A")))) == [
        (True, "T: 'A' at a, b; nothing at c")
    ]


def test_other_tags_and_another_type_are_reported() -> None:
    sql = member(("T", "a > 5", "SQL92"))
    assert found_differences(("a", member(("T", "A || B"))), ("b", member(("T", "A"))), ("c", sql)) == [
        (True, "T: 'A || B' at a; 'A' at b; 'a > 5' (SQL92) at c")
    ]
    assert found_differences(("a", member(("T", "A"))), ("b", member(("T", "A", "SQL92"))))[0][0]
    assert found_differences(("a", sql), ("b", member(("T", "a>5", "SQL92"))))[0][0]


@pytest.mark.parametrize(
    ("one", "other"),
    [("A || B", "B||A"), ("A||B", "A || B || "), ("A || A", "A"), ("", "*"), (" * ", "*"), ("||", "*")],
)
def test_another_spelling_of_the_same_tags_is_reported_as_harmless(one: str, other: str) -> None:
    found = found_differences(("a", member(("T", one))), ("b", member(("T", other))))
    assert [matters for matters, _ in found] == ([] if (one or "*") == (other or "*") else [False])
    assert all(text.endswith(" (means the same)") for _, text in found)


def test_the_retry_topic_is_ignored() -> None:
    assert found_differences(("a", member(("T", "*"), ("%RETRY%G", "*"))), ("b", member(("T", "*")))) == []
    assert found_differences(("a", member(("T", "*"), ("%RETRY%H", "*"))), ("b", member(("T", "*"))))[0][0]


def test_of_many_members_a_few_are_named() -> None:
    many = [(f"id{number}", member(("T", "A"))) for number in range(8)]
    assert found_differences(*many, ("odd", member(("T", "B")))) == [
        (True, "T: 'A' at id0, id1, id2, id3, id4 and 3 more; 'B' at odd")
    ]


@given(st.lists(st.dictionaries(st.sampled_from("TU"), st.sampled_from(["*", "A", "A || B", "B || A"])), max_size=4))
def test_the_order_of_members_does_not_matter(wanted: list[dict[str, str]]) -> None:
    members = [(f"id{number}", member(*each.items())) for number, each in enumerate(wanted)]
    found = differences("G", members)
    assert differences("G", members[::-1]) == found
    tags = {"*": "*", "A": "A", "A || B": "AB", "B || A": "AB"}
    agreed = all({t: tags[e] for t, e in each.items()} == {t: tags[e] for t, e in wanted[0].items()} for each in wanted)
    assert any(each.matters for each in found) is not agreed
    assert bool(found) is any(each != wanted[0] for each in wanted)
