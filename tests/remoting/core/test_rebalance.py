from __future__ import annotations

from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.remoting import Queue
from rocketwire.remoting.core.group_requests import allocate_queues

MEMBERS = st.sets(st.text("ab@#\uffff\U0001f600", min_size=1, max_size=4), min_size=1, max_size=8)


def queues(count: int) -> list[Queue]:
    return [Queue("T", "b", number) for number in range(count)]


@given(MEMBERS, st.integers(0, 30), st.randoms())
def test_each_queue_has_one_member_and_parts_are_equal(members: set[str], count: int, random: object) -> None:
    every = queues(count)
    parts = {member: allocate_queues(member, list(members), every) for member in members}
    assert sorted(chain.from_iterable(parts.values())) == every
    sizes = sorted(map(len, parts.values()))
    assert sizes[-1] - sizes[0] <= 1


def allocated_by_java(own: str, members: list[str], every: list[Queue]) -> list[Queue]:
    """AllocateMessageQueueAveragely of Apache's client, with its own arithmetic."""
    members = sorted(members, key=lambda text: text.encode("utf-16-be"))
    index, rest = members.index(own), len(every) % len(members)
    larger = rest > 0 and index < rest
    size = 1 if len(every) <= len(members) else len(every) // len(members) + (1 if larger else 0)
    start = index * size if larger else index * size + rest
    return [every[(start + number) % len(every)] for number in range(min(size, len(every) - start))]


@given(MEMBERS, st.integers(1, 30))
def test_it_is_the_part_that_javas_client_takes(members: set[str], count: int) -> None:
    for member in members:
        assert allocate_queues(member, members, queues(count)) == allocated_by_java(
            member, list(members), queues(count)
        )


def test_a_client_that_is_no_member_has_nothing() -> None:
    assert allocate_queues("me", ["other"], queues(4)) == []


@pytest.mark.parametrize(
    ("own", "expected"), [("10.0.0.1@1#1", [0, 1, 2]), ("10.0.0.1@7#1", [3, 4]), ("9.9.9.9@1", [5, 6])]
)
def test_by_example(own: str, expected: list[int]) -> None:
    members = ["9.9.9.9@1", "10.0.0.1@1#1", "10.0.0.1@7#1"]
    assert [each.queue_id for each in allocate_queues(own, members, queues(7))] == expected
