"""Findings: consecutive ones are one line, and of many the first are reported."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rocketwire.store.offline.verify.findings import MOST, Finding, FindingKind, FindingMerger


def of(number: int, *, count: int = 1, kind: FindingKind = FindingKind.DAMAGE, offset: int | None = None) -> Finding:
    return Finding(kind=kind, path="f", what=f"it is {number}", position=number * 8, count=count, offset=offset)


def gathered(*said: tuple[str, int, Finding]) -> list[str]:
    found: list[Finding] = []
    one = FindingMerger(found.append)
    for thing, number, finding in said:
        one.add(thing, number, finding)
    one.close()
    return [str(each) for each in found]


def test_those_in_a_row_are_one() -> None:
    slots = [("wrong slot", number, of(number)) for number in (3, 4, 5, 9)]
    assert gathered(*slots) == [
        "damage: f at byte 24: it is 3; the same up to wrong slot 5",
        "damage: f at byte 72: it is 9",
    ]
    assert gathered(("entry", 1, of(1, count=4)), ("entry", 5, of(5))) == [
        "damage: f at byte 8: it is 1; the same up to entry 5"
    ]
    messages = [("lost message", number, of(number, offset=number)) for number in (7, 8)]
    assert gathered(*messages) == ["damage: f at byte 56 offsets 7 to 8: it is 7"]


def test_other_things_and_kinds_are_separate() -> None:
    assert len(gathered(("a", 1, of(1)), ("b", 2, of(2)), ("a", 2, of(2, kind=FindingKind.NOTE)))) == 3


def test_of_many_rows_the_first_are_reported() -> None:
    lines = gathered(*(("entry", number, of(number)) for number in range(0, 2000, 2)))
    assert len(lines) == MOST + 1
    first = 2 * MOST
    assert lines[-1] == (
        f"damage: f at byte {8 * first}: it is {first}; there are {1000 - MOST} like this from here on, "
        "the last one is entry 1998"
    )


@given(st.sets(st.integers(0, 300)))
def test_nothing_is_missing(numbers: set[int]) -> None:
    found: list[Finding] = []
    one = FindingMerger(found.append)
    for number in sorted(numbers):
        one.add("entry", number, of(number))
    one.close()
    assert sum(each.count for each in found) == len(numbers)
