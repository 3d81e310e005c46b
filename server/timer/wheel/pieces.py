"""Pieces of a slot, each read in one step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from rocketwire.store.timer.units import Unit

MOST_MARKERS: Final = 128
"""Markers of one piece: the record of each is read in the log, which takes some 10 us, or ten times that."""


def with_few_markers(pieces: Iterable[Sequence[Unit]]) -> Iterator[Sequence[Unit]]:
    """The same pieces, those with many markers in smaller ones."""
    for units in pieces:
        first = 0
        markers = [number for number, unit in enumerate(units) if unit.deletes]
        for number in markers[MOST_MARKERS::MOST_MARKERS]:
            yield units[first:number]
            first = number
        yield units[first:]
