"""The column of keys, as the kernel has it and as its twin has it."""

from __future__ import annotations

from typing import Any

import pytest

from rocketwire import native
from rocketwire.store.index.key_column import PythonKeyColumn, positive_hash
from rocketwire.wire.java import string_hash

COLUMNS = [PythonKeyColumn] if native.kernel is None else [PythonKeyColumn, native.kernel.KeyColumn]
MOST = 1000


@pytest.fixture(params=COLUMNS, ids=lambda kind: kind.__module__.rpartition(".")[2])
def column(request: pytest.FixtureRequest) -> PythonKeyColumn:
    made: PythonKeyColumn = request.param(MOST)
    return made


def message(offset: int, unique_key: str | None = "k", keys: str | None = None, topic: str = "T") -> list[Any]:
    return [string_hash(f"{topic}#"), unique_key, keys, offset, offset + 7]


def rows(taken: Any) -> tuple[list[tuple[int, int, int]], int, int, int] | None:
    if taken is None:
        return None
    hashes, offsets, timestamps, end, last_offset, last_timestamp = taken
    return list(zip(hashes, offsets, timestamps, strict=True)), end, last_offset, last_timestamp


def test_keys_are_taken_once_and_in_order(column: PythonKeyColumn) -> None:
    assert rows(column.take(0, 10)) is None
    column.add(0, 200, [*message(0, "U", "a  b ä "), *message(100, None, "c", "T2")])
    column.add(200, 300, message(200, None))
    assert column.start == 0
    wanted = [(positive_hash(f"T#{key}"), 0, 7) for key in ("U", "a", "b", "ä")]
    wanted.append((positive_hash("T2#c"), 100, 107))
    assert rows(column.take(0, 10)) == (wanted, 300, 200, 207)
    assert rows(column.take(300, 10)) is None


def test_a_step_ends_with_a_group(column: PythonKeyColumn) -> None:
    for start in range(0, 80, 20):
        column.add(start, start + 20, [*message(start), *message(start + 10)])
    ends = [taken[3] for end in (0, 40) if (taken := column.take(end, 3))]
    assert ends == [40, 80]


def test_keys_that_are_not_next_stay_and_done_ones_are_dropped(column: PythonKeyColumn) -> None:
    column.add(100, 200, message(100))
    column.add(200, 300, message(200))
    column.add(400, 500, message(400))
    assert (column.take(50, 10), column.start) == (None, 100)
    found = rows(column.take(200, 10))
    assert found is not None
    assert found[1:] == (300, 200, 207)
    assert (column.take(300, 10), column.start) == (None, 400)
    # A group that is done in part is taken whole.
    assert rows(column.take(450, 10)) == ([(positive_hash("T#k"), 400, 407)], 500, 400, 407)


def test_a_group_without_keys_has_its_end(column: PythonKeyColumn) -> None:
    column.add(0, 100, message(0, None))
    assert rows(column.take(0, 10)) == ([], 100, 0, 7)


def test_too_many_are_dropped(column: PythonKeyColumn) -> None:
    for start in range(0, 20 * MOST, 100):
        column.add(start, start + 100, [value for n in range(10) for value in message(start + n * 10)])
    begin = column.start
    assert begin is None or begin > 0
    column.add(20 * MOST, 20 * MOST + 10, message(20 * MOST))
    count, end = 0, column.start or 0
    while (found := rows(column.take(end, 10))) is not None:
        count += len(found[0])
        end = found[1]
    assert end == 20 * MOST + 10
    assert 1 <= count <= MOST


def test_many_keys_find_room(column: PythonKeyColumn) -> None:
    big = type(column)(1 << 20)
    added = taken = 0
    for turn in range(60):
        for _ in range(turn * 7 % 40 + 1):
            big.add(added, added + 50, [value for n in range(50) for value in message(added + n, f"k{added + n}")])
            added += 50
        while (found := rows(big.take(taken, 400))) is not None:
            assert [row[1] for row in found[0]] == list(range(taken, found[1]))
            assert found[0][0] == (positive_hash(f"T#k{taken}"), taken, taken + 7)
            taken = found[1]
            if turn % 3:  # the next turn takes the rest
                break
    while (found := rows(big.take(taken, 400))) is not None:
        taken = found[1]
    assert taken == added


@pytest.mark.parametrize("count", [10, 40_000])
def test_what_was_taken_stays_as_it_is(column: PythonKeyColumn, count: int) -> None:
    big = type(column)(1 << 20)
    values = [value for n in range(count) for value in message(n)]
    big.add(0, count, values)
    big.add(count + 5, count + 10, message(count + 5, None))  # not next, and without a key
    taken = big.take(0, 1 << 20)
    for turn in range(1, 4):
        big.add(turn * count + 10, turn * count + count + 10, values)
    found = rows(taken)
    assert found is not None
    assert [row[1] for row in found[0]] == list(range(count))
    assert (found[0][-1], found[1]) == ((positive_hash("T#k"), count - 1, count + 6), count)


def test_the_hash_without_a_positive_twin_is_zero(column: PythonKeyColumn) -> None:
    key = "polygenelubricants"
    assert string_hash(key) == -(1 << 31)
    assert positive_hash(key) == 0
    column.add(0, 100, [0, key, None, 0, 7])
    assert rows(column.take(0, 10)) == ([(0, 0, 7)], 100, 0, 7)
