"""bench/spark/tables.py: figures of sources beside each other."""

from __future__ import annotations

from bench.spark.tables import BenchRow, sources
from bench.spark.usage import ActionCost

MIB = 1 << 20


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_sources_are_held_to_the_base_turn_by_turn() -> None:
    base = BenchRow(
        what="count: theirs",
        size=8 * MIB,
        base="count: theirs",
        costs=[ActionCost(4, 8), ActionCost(2, 2), ActionCost(1, 6)],
    )
    ours = BenchRow(
        what="count: ours",
        size=8 * MIB,
        base="count: theirs",
        costs=[ActionCost(1, 2), ActionCost(1, 1), ActionCost(2, 1)],
    )
    never = BenchRow(what="count: never", size=8 * MIB, base="count: theirs")
    head, _, *lines = sources([base, ours, never], 800, "theirs").splitlines()
    assert cells(head)[-2:] == ["speed / theirs", "theirs CPU / CPU"]
    assert [cells(line) for line in lines] == [
        ["count: theirs", "2 / 4 / 8", "200 / 400 / 800", "2.00 / 6.00 / 8.00", "1.00", "1.00"],
        ["count: ours", "4 / 8 / 8", "400 / 800 / 800", "1.00 / 1.00 / 2.00", "2.00", "4.00"],
    ]
