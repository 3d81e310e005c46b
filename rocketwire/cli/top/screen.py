"""What the terminal shows: brokers, topics, groups, and the queues of the selected one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeVar

from rich.layout import Layout
from rich.table import Table
from rich.text import Text

from rocketwire.cli.output import number
from rocketwire.cli.table import clean
from rocketwire.cli.top.traffic import BrokerRow, ClusterTraffic, GroupRow, TopicRow

if TYPE_CHECKING:
    from rich.console import RenderableType

Row = TypeVar("Row", TopicRow, GroupRow)

TOPICS: Final = "topics"
GROUPS: Final = "groups"
_TITLE_LINES: Final = 1
_KEYS: Final = "q quit   ↑↓ select   Tab topics/groups   s sort"
_TOPIC_ORDERS: Final[Sequence[tuple[str, Callable[[TopicRow], object]]]] = (
    ("in/s", lambda row: (-(row.rate_in or 0), row.topic)),
    ("out/s", lambda row: (-(row.rate_out or 0), row.topic)),
    ("messages", lambda row: (-(row.messages or 0), row.topic)),
    ("name", lambda row: row.topic),
)
_GROUP_ORDERS: Final[Sequence[tuple[str, Callable[[GroupRow], object]]]] = (
    ("lag", lambda row: (-row.lag, row.group)),
    ("rate", lambda row: (-(row.rate or 0), row.group)),
    ("name", lambda row: row.group),
)


@dataclass(slots=True)
class ScreenState:
    """What the user has chosen.

    Attributes:
        focus: `TOPICS` or `GROUPS`.
        selected: The selected name of each; None before there is one.
        order: The number of the order of each.
        problem: What went wrong last; empty if nothing did.
    """

    focus: str = TOPICS
    selected: dict[str, str | None] = field(default_factory=lambda: {TOPICS: None, GROUPS: None})
    order: dict[str, int] = field(default_factory=lambda: {TOPICS: 0, GROUPS: 0})
    problem: str = ""

    def press(self, key: str, traffic: ClusterTraffic) -> None:
        """Handle a key: `up`, `down`, `tab` or `s`; others do nothing."""
        if key == "tab":
            self.focus = GROUPS if self.focus == TOPICS else TOPICS
        elif key == "s":
            self.order[self.focus] += 1
        elif key in ("up", "down"):
            names = self.names(traffic)[self.focus]
            if names:
                at = names.index(self._current(names) or names[0])
                self.selected[self.focus] = names[min(max(at + (1 if key == "down" else -1), 0), len(names) - 1)]

    def names(self, traffic: ClusterTraffic) -> dict[str, list[str]]:
        """The names of both tables in their orders."""
        return {
            TOPICS: [row.topic for row in ordered_topics(traffic, self)],
            GROUPS: [row.group for row in ordered_groups(traffic, self)],
        }

    def current(self, traffic: ClusterTraffic) -> str | None:
        """The selected name of the table in focus: the first one if nothing is selected."""
        return self._current(self.names(traffic)[self.focus])

    def _current(self, names: list[str]) -> str | None:
        chosen = self.selected[self.focus]
        return chosen if chosen in names else next(iter(names), None)


def ordered_topics(traffic: ClusterTraffic, state: ScreenState) -> list[TopicRow]:
    """The topics in the chosen order."""
    return sorted(traffic.topics, key=_TOPIC_ORDERS[state.order[TOPICS] % len(_TOPIC_ORDERS)][1])  # type: ignore[arg-type]


def ordered_groups(traffic: ClusterTraffic, state: ScreenState) -> list[GroupRow]:
    """The groups in the chosen order."""
    return sorted(traffic.groups, key=_GROUP_ORDERS[state.order[GROUPS] % len(_GROUP_ORDERS)][1])  # type: ignore[arg-type]


def rendered(traffic: ClusterTraffic, state: ScreenState, height: int) -> Layout:
    """The whole screen, for so many lines."""
    brokers = traffic.brokers
    layout = Layout()
    header = Layout(_brokers(brokers), size=min(len(brokers) + _TITLE_LINES, max(2, height // 4)))
    footer = Layout(_footer(state), size=1)
    room = max(3, height - (header.size or 0) - 1)
    share = room // 3
    topics, groups, queues = share, share, room - 2 * share
    current = state.current(traffic)
    layout.split_column(
        header,
        Layout(_topics(traffic, state, topics), size=topics),
        Layout(_groups(traffic, state, groups), size=groups),
        Layout(_queues(traffic, state, current, queues), size=queues),
        footer,
    )
    return layout


def _table(columns: Sequence[tuple[str, bool]]) -> Table:
    """A table of (title, whether it has numbers)."""
    table = Table(box=None, expand=True, pad_edge=False, header_style="bold")
    for number_, (title, right) in enumerate(columns):
        table.add_column(
            Text(title),
            justify="right" if right else "left",
            no_wrap=True,
            overflow="ellipsis",
            ratio=None if right else (3 if number_ == 0 else 2),
        )
    return table


def _brokers(rows: Sequence[BrokerRow]) -> RenderableType:
    columns = ("VERSION", False), ("IN/s", True), ("OUT/s", True), ("IN TODAY", True), ("DISK", True)
    table = _table((("BROKER", False), *columns))
    for row in rows:
        name = Text(clean(row.broker))
        if row.problem is not None:
            name.append(f"  {clean(row.problem)}", style="bold red")
        disk = "-" if row.disk_ratio is None else f"{row.disk_ratio:.0%}"
        table.add_row(
            name,
            Text(clean(row.version or "-")),
            rate(row.put_tps),
            rate(row.get_tps),
            count(row.put_today),
            disk,
        )
    return table


def _topics(traffic: ClusterTraffic, state: ScreenState, height: int) -> RenderableType:
    rows = ordered_topics(traffic, state)
    title = f"TOPIC (by {_TOPIC_ORDERS[state.order[TOPICS] % len(_TOPIC_ORDERS)][0]})"
    numbers = ("IN/s", True), ("OUT/s", True), ("MESSAGES", True), ("QUEUES", True), ("GROUPS", True)
    table = _table(((title, False), *numbers))
    chosen = state.current(traffic) if state.focus == TOPICS else None
    for row in _visible(rows, [each.topic for each in rows], chosen, height):
        table.add_row(
            Text(clean(row.topic)),
            rate(row.rate_in),
            rate(row.rate_out),
            count(row.messages),
            str(row.queues),
            str(row.groups),
            style="reverse" if row.topic == chosen else "",
        )
    return table


def _groups(traffic: ClusterTraffic, state: ScreenState, height: int) -> RenderableType:
    rows = ordered_groups(traffic, state)
    title = f"GROUP (by {_GROUP_ORDERS[state.order[GROUPS] % len(_GROUP_ORDERS)][0]})"
    table = _table(((title, False), ("TOPICS", False), ("OUT/s", True), ("LAG", True), ("MEMBERS", True)))
    chosen = state.current(traffic) if state.focus == GROUPS else None
    for row in _visible(rows, [each.group for each in rows], chosen, height):
        table.add_row(
            Text(clean(row.group)),
            Text(clean(", ".join(row.topics))),
            rate(row.rate),
            count(row.lag),
            count(row.members),
            style="reverse" if row.group == chosen else "",
        )
    return table


def _queues(traffic: ClusterTraffic, state: ScreenState, current: str | None, height: int) -> RenderableType:
    if current is None:
        return Text("")
    rows = traffic.queues_of_topic(current) if state.focus == TOPICS else traffic.queues_of_group(current)
    title = f"QUEUES OF {clean(current)}"
    numbers = ("QUEUE", True), ("OFFSET", True), ("END", True), ("LAG", True), ("/s", True)
    table = _table(((title, False), ("BROKER", False), *numbers))
    for row in rows[: max(0, height - _TITLE_LINES)]:
        table.add_row(
            Text(clean(row.place.topic)),
            Text(clean(row.place.broker)),
            str(row.place.queue_id),
            count(row.consumed),
            count(row.end),
            count(row.lag),
            rate(row.rate),
        )
    return table


def _footer(state: ScreenState) -> RenderableType:
    if state.problem:
        return Text(clean(state.problem), style="bold red", no_wrap=True, overflow="ellipsis")
    return Text(_KEYS, style="dim", no_wrap=True, overflow="ellipsis")


def _visible(rows: Sequence[Row], names: list[str], chosen: str | None, height: int) -> Sequence[Row]:
    """So many rows that the selected one is among them."""
    most = max(1, height - _TITLE_LINES)
    at = names.index(chosen) if chosen in names else 0
    start = max(0, min(at - most // 2, len(rows) - most))
    return rows[start : start + most]


def rate(value: float | None) -> str:
    """Messages a second as text."""
    return "-" if value is None else f"{value:,.1f}"


def count(value: int | None) -> str:
    """A number as text."""
    return "-" if value is None else number(value)
