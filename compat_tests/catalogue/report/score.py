"""Counting: how much of what was offered passed, per client, per feature and in all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from rocketwire.compat.results import Outcome, Result, Results, Side

_PASSED: Final = (Outcome.PASS, Outcome.FLAKY)
_NOT_PASSED: Final = (Outcome.DIFFERS, Outcome.FAILS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """How many results there are of each outcome.

    Flaky ones count as passed; those that are not offered count neither as passed nor as not passed.
    """

    counts: Mapping[Outcome, int]

    @property
    def passed(self) -> int:
        """How many passed, at once or when they ran again."""
        return sum(self.counts[each] for each in _PASSED)

    @property
    def offered(self) -> int:
        """How many ran."""
        return self.passed + sum(self.counts[each] for each in _NOT_PASSED)

    @property
    def percent(self) -> int | None:
        """How much of what ran passed, rounded down so that 100 means all; None where nothing ran."""
        return self.passed * 100 // self.offered if self.offered else None

    @property
    def shown(self) -> str:
        """The percentage as text."""
        return "no result" if self.percent is None else f"{self.percent} %"

    @property
    def exit_code(self) -> int:
        """0 where something ran and all of it passed, else 1."""
        return 0 if self.offered and self.passed == self.offered else 1


def score_of(results: Iterable[Result]) -> Score:
    """The score of some results, whatever their side."""
    counts = Counter(each.outcome for each in results)
    return Score(counts={outcome: counts[outcome] for outcome in Outcome})


def score(results: Results, *, client: str | None = None, feature: str | None = None) -> Score:
    """The endpoint's score: with one client or all, in one feature or all."""
    return side_score(results, Side.ENDPOINT, client=client, feature=feature)


def side_score(results: Results, side: Side, *, client: str | None = None, feature: str | None = None) -> Score:
    """The score of the endpoint or of the reference."""
    chosen = {each.id for each in results.scenarios if feature in {None, each.feature}}
    return score_of(
        each
        for each in results.results
        if each.side is side and client in {None, each.client} and each.scenario in chosen
    )


def doubtful(results: Results) -> tuple[Result, ...]:
    """The reference's results that did not pass, less those of scenarios for rocketwire only: such a claim is wrong."""
    ours = {each.id for each in results.scenarios if each.ours_only}
    return tuple(
        each
        for each in results.results
        if each.side is Side.REFERENCE and each.outcome in _NOT_PASSED and each.scenario not in ours
    )
