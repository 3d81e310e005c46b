"""What is shown while the demonstration runs: a live view on a terminal, else plain lines."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from tools.cluster_demo.servers import Server

_EVENTS: Final = 9
_LINE_EVERY: Final = 5
"""Seconds between two plain lines about the traffic."""
_STYLES: Final = {"up": "green", "starting": "yellow", "stopped": "dim"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """The traffic now.

    Attributes:
        seconds: Since it began.
        sends: Messages acknowledged in the last second.
        receives: Messages received in the last second.
        failed: Sends that failed until now, and were tried again.
        lag: Messages that were acknowledged, and have not come yet.
        acknowledged: Messages acknowledged until now.
    """

    seconds: float
    sends: int
    receives: int
    failed: int
    lag: int
    acknowledged: int

    def __str__(self) -> str:
        return (
            f"sends {self.sends}/s, received {self.receives}/s, failed sends {self.failed}, lag {self.lag},"
            f" acknowledged {self.acknowledged}"
        )


class View(Protocol):
    """Shows what happens."""

    def event(self, seconds: float, text: str) -> None:
        """Show that something happened."""
        ...

    def show(self, servers: Sequence[Server], figures: Figures) -> None:
        """Show the servers and the traffic; called every second."""
        ...


class Plain:
    """Lines, for what is no terminal."""

    def __init__(self) -> None:
        self._until_line = 0

    def event(self, seconds: float, text: str) -> None:
        """Print a line."""
        print(f"{seconds:5.1f} s  {text}", flush=True)

    def show(self, servers: Sequence[Server], figures: Figures) -> None:
        """Print a line every few seconds."""
        if not self._until_line:
            self._until_line = _LINE_EVERY
            down = [f"{each.name} {each.shown_state}" for each in servers if each.shown_state != "up"]
            self.event(figures.seconds, "; ".join((str(figures), *down)))
        self._until_line -= 1


class Silent:
    """Nothing: the account is all that is wanted."""

    def event(self, seconds: float, text: str) -> None:
        """Show nothing."""

    def show(self, servers: Sequence[Server], figures: Figures) -> None:
        """Show nothing."""


class OnTerminal:
    """The processes, the traffic and the last events, drawn again each time."""

    def __init__(self, live: Live) -> None:
        self._live = live
        self._events: deque[str] = deque(maxlen=_EVENTS)
        self._above: Table | Text = Text("starting ...")

    def event(self, seconds: float, text: str) -> None:
        """Add it to the events."""
        self._events.append(f"{seconds:5.1f} s  {text}")
        self._draw()

    def show(self, servers: Sequence[Server], figures: Figures) -> None:
        """Draw them."""
        table = Table(box=None, pad_edge=False, header_style="bold", caption=Text(str(figures), style="bold"))
        for title in ("PROCESS", "ADDRESS", "PID", "STATE", "KILLED"):
            table.add_column(title, min_width=12)
        for each in servers:
            state = each.shown_state
            shown = Text(state, style=_STYLES.get(state, "bold red"))
            table.add_row(each.name, each.address, str(each.pid or "-"), shown, str(each.kills or ""))
        self._above = table
        self._draw()

    def _draw(self) -> None:
        self._live.update(Group(self._above, Text(), *map(Text, self._events)), refresh=True)


@contextmanager
def viewing(*, silent: bool) -> Iterator[View]:
    """The view for what the output is."""
    console = Console()
    if silent:
        yield Silent()
    elif console.is_terminal:
        with Live(console=console, auto_refresh=False) as live:
            yield OnTerminal(live)
    else:
        yield Plain()
