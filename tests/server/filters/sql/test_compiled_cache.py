from __future__ import annotations

from rocketwire.server.filters.sql.compiled_cache import MOST_CHARACTERS, CompiledCache


def test_those_not_asked_for_the_longest_time_go() -> None:
    kept = CompiledCache[int]()
    third = "x" * (MOST_CHARACTERS // 3)
    for number in range(3):
        kept.put(f"{number}"[:1] + third[1:], number)
    assert kept.get("0" + third[1:]) == 0
    kept.put("3" + third[1:], 3)
    assert [kept.get(f"{number}" + third[1:]) for number in range(4)] == [0, None, 2, 3]


def test_short_expressions_are_many_but_not_without_end() -> None:
    kept = CompiledCache[int]()
    for number in range(10_000):
        kept.put(str(number), number)
    assert 1000 < len(kept) < 5000
    assert kept.get("9999") == 9999


def test_what_takes_all_of_the_room_stays_alone() -> None:
    kept = CompiledCache[int]()
    kept.put("small", 1)
    kept.put("x" * MOST_CHARACTERS, 2)
    assert (len(kept), kept.get("x" * MOST_CHARACTERS)) == (1, 2)
