"""The table of docs/proxy.md: for each client and each kind of brokers, what came of the catalogue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Self

from compat_tests.proxied import BROKERS, OURS
from rocketwire.compat.results import Outcome, Result
from tools.generated import MarkerMissing
from tools.markdown import table

FAILED: Final = frozenset({Outcome.DIFFERS, Outcome.FAILS})
"""The outcomes of a scenario that ran and did not pass."""
_BEGIN: Final = "<!-- catalogue: made by compat_tests/proxy_catalogue.py -->\n"
_END: Final = "<!-- catalogue: end -->\n"
_HEAD: Final = ("client", "brokers", "passed", "not offered", "did not pass")
_NUMBERS: Final = {2: "two", 3: "three"}
_NONE: Final = "-"
_ELSEWHERE: Final = " (nor without the proxy)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What came of one scenario with one client.

    Attributes:
        result: Through the proxy.
        direct: Without it, on the same cluster, where it did not pass.
    """

    result: Result
    direct: Result | None

    @property
    def scenario(self) -> str:
        """The scenario's id."""
        return self.result.scenario

    @property
    def client(self) -> str:
        """The client's id."""
        return self.result.client

    @property
    def outcome(self) -> Outcome:
        """The outcome through the proxy."""
        return self.result.outcome

    @property
    def failed(self) -> bool:
        """Whether it ran and did not pass through the proxy."""
        return self.outcome in FAILED

    @property
    def by_proxy(self) -> bool:
        """Whether it ran and did not pass through the proxy, but did without it."""
        return self.failed and self.direct is not None and self.direct.outcome in {Outcome.PASS, Outcome.FLAKY}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A row of the table.

    Attributes:
        cells: Its text, one for each column; the first two, client and brokers, name it.
    """

    cells: tuple[str, ...]

    @classmethod
    def of(cls, client: str, kind: str, found: Sequence[Found]) -> Self:
        """The row of a client in front of brokers of a kind."""
        counts = Counter(each.outcome for each in found)
        passed = counts[Outcome.PASS] + counts[Outcome.FLAKY]
        ran = len(found) - counts[Outcome.NOT_OFFERED]
        brokers = f"{_NUMBERS[BROKERS[kind]]} of {'this program' if kind == OURS else f'Apache {kind}'}"
        names = ", ".join(
            sorted(f"`{each.scenario}`{'' if each.by_proxy else _ELSEWHERE}" for each in found if each.failed)
        )
        return cls(
            cells=(f"`{client}`", brokers, f"{passed} / {ran}", str(counts[Outcome.NOT_OFFERED]), names or _NONE)
        )

    @property
    def line(self) -> str:
        """It as it is printed."""
        return "  ".join(self.cells)


def brought_up_to_date(page: str, rows: Iterable[Row]) -> str:
    """The page with these rows in its table, in place of those of the same client and brokers.

    Raises:
        MarkerMissing: the page has no place for the table.
    """
    before, begin, rest = page.partition(_BEGIN)
    text, end, after = rest.partition(_END)
    if not (begin and end):
        raise MarkerMissing("catalogue")
    lines = (tuple(cell.strip() for cell in line.strip("|").split("|")) for line in text.splitlines()[2:])
    known = {cells[:2]: cells for cells in lines}
    known |= {row.cells[:2]: row.cells for row in rows}
    return f"{before}{begin}{table(_HEAD, sorted(known.values()))}{end}{after}"
