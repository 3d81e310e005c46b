"""The offsets of a group before and after a change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetMove:
    """The change in one queue; None stands for no committed offset."""

    group: str
    topic: str
    broker: str
    queue_id: int
    before: int | None
    after: int | None


def write(moves: Sequence[OffsetMove], *, as_json: bool) -> None:
    """Print offsets before and after."""
    from rocketwire.cli.output import json_line
    from rocketwire.cli.table import TableColumn, print_table

    if as_json:
        for each in moves:
            json_line(each)
        return
    if not moves:
        return
    columns = (
        *(TableColumn("TOPIC", least=12), TableColumn("BROKER", least=8), TableColumn("QUEUE", right=True)),
        *(TableColumn("BEFORE", right=True), TableColumn("AFTER", right=True), TableColumn("CHANGE", right=True)),
    )
    print_table(columns, [_cells(each) for each in moves])


def _cells(move: OffsetMove) -> tuple[str, ...]:
    change = "" if move.before is None or move.after is None else f"{move.after - move.before:+d}"
    before, after = (offset_text(each) for each in (move.before, move.after))
    return move.topic, move.broker, str(move.queue_id), before, after, change


def offset_text(offset: int | None) -> str:
    """An offset in a table."""
    return "-" if offset is None else str(offset)
