"""Pieces of a slot."""

from __future__ import annotations

from rocketwire.server.timer.wheel.pieces import MOST_MARKERS, with_few_markers
from rocketwire.store.timer.units import Unit


def units(magic: int, count: int) -> list[Unit]:
    return [Unit(number, -1, magic, 0, 0, 0, 0, 0, 0) for number in range(count)]


def test_a_piece_has_few_markers_and_all_stay_in_their_order() -> None:
    plain, markers = units(1, 1000), units(4, 2 * MOST_MARKERS + 1)
    pieces = list(with_few_markers([plain, [*plain, *markers, *plain], markers[:MOST_MARKERS]]))
    assert [sum(unit.deletes for unit in piece) for piece in pieces] == [0, MOST_MARKERS, MOST_MARKERS, 1, MOST_MARKERS]
    assert [unit for piece in pieces[1:4] for unit in piece] == [*plain, *markers, *plain]
