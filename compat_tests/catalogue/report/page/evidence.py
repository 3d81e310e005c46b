"""Logs and frames for the page: cut to a size and packed, a block per scenario, which the page unpacks to show it."""

from __future__ import annotations

import base64
import zlib
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from rocketwire.compat.report.plain import cut, one_line, plain
from rocketwire.compat.results import Attempt, Outcome, Result, Results


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What of the evidence is kept: characters of texts, and numbers of frames.

    Attributes:
        passed_log: Of the log of a result that passed at once.
        log: Of the log of another.
        error: Of a traceback.
        frames: How many frames of an attempt, and differences of a result.
        detail: Of a decoded frame.
    """

    passed_log: int
    log: int
    error: int
    frames: int
    detail: int

    def __str__(self) -> str:
        """For the reader."""
        if not self.log:
            return "No logs and no frames are kept here"
        return (
            f"Kept here are at most {self.log:,} characters of a log ({self.passed_log:,} where it passed), "
            f"{self.frames:,} frames of an attempt and {self.detail:,} characters of a frame"
        )


LIMITS: Final = (
    Limits(passed_log=20_000, log=60_000, error=30_000, frames=400, detail=8_000),
    Limits(passed_log=2_000, log=20_000, error=20_000, frames=200, detail=4_000),
    Limits(passed_log=0, log=8_000, error=8_000, frames=60, detail=1_500),
    Limits(passed_log=0, log=2_000, error=4_000, frames=20, detail=600),
    Limits(passed_log=0, log=600, error=1_500, frames=8, detail=300),
    Limits(passed_log=0, log=0, error=500, frames=0, detail=0),
)
"""They are tried one after the other until all evidence fits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The blocks by scenario, and what they keep.

    Attributes:
        blocks: zlib streams in base64; in each a JSON object of lists of attempts and differences, by client and side.
        limits: What was kept.
        was_cut: Whether something is missing.
    """

    blocks: Mapping[str, str]
    limits: Limits
    was_cut: bool


NOTHING: Final = Evidence(blocks={}, limits=LIMITS[-1], was_cut=True)


def evidence(results: Results, budget: int) -> Evidence:
    """The evidence of all results, cut as little as is needed to make blocks of at most `budget` characters."""
    for limits in LIMITS:
        found = _packed(results, limits, budget)
        if found is not None:
            return found
    return NOTHING


def _packed(results: Results, limits: Limits, budget: int) -> Evidence | None:
    """The evidence cut to these limits; None as soon as it is too large."""
    own: dict[str, list[Result]] = defaultdict(list)
    for result in results.results:
        if result.attempts or result.frame_diff:
            own[result.scenario].append(result)
    shaper = _Shaper(limits)
    blocks: dict[str, str] = {}
    for scenario, listed in own.items():
        cells = {f"{plain(each.client)}/{each.side}": shaper.result(each) for each in listed}
        blocks[scenario] = base64.b64encode(zlib.compress(msgspec.json.encode(cells), 9)).decode()
        budget -= len(blocks[scenario])
        if budget < 0:
            return None
    return Evidence(blocks=blocks, limits=limits, was_cut=shaper.was_cut)


class _Shaper:
    """Cuts results, and remembers whether it had to."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self.was_cut = False

    def result(self, result: Result) -> dict[str, Any]:
        """The evidence of a result, as the page's script reads it."""
        shown = result.frame_diff[: self._limits.frames]
        detail = self._limits.detail
        differences = [
            {"where": one_line(each.where), "expected": self._maybe(each.expected), "actual": self._maybe(each.actual)}
            for each in shown
        ]
        self.was_cut |= len(shown) < len(result.frame_diff)
        return {
            "attempts": [self._attempt(each, result.outcome) for each in result.attempts],
            "diff": differences if detail else [],
            "diffs": len(result.frame_diff),
        }

    def _attempt(self, attempt: Attempt, outcome: Outcome) -> dict[str, Any]:
        limits = self._limits
        frames = attempt.frames
        if len(frames) > limits.frames:
            head = limits.frames // 4
            frames = frames[:head] + frames[len(frames) - limits.frames + head :]
            self.was_cut = True
        first = frames[0].at if frames else 0
        calm = outcome in {Outcome.PASS, Outcome.NOT_OFFERED}
        return {
            "passed": attempt.passed,
            "seconds": round(attempt.seconds, 3),
            "error": self._text(attempt.error, limits.error),
            "log": self._text(attempt.log, limits.passed_log if calm else limits.log),
            "frames": [
                [
                    each.at - first,
                    each.connection,
                    each.sender == "client",
                    one_line(each.summary),
                    self._text(each.detail, limits.detail),
                ]
                for each in frames
            ],
            "of": len(attempt.frames),
        }

    def _maybe(self, text: str | None) -> str | None:
        return None if text is None else self._text(text, self._limits.detail)

    def _text(self, text: str, limit: int) -> str:
        shown = plain(text)
        if len(shown) <= limit:
            return shown
        self.was_cut = True
        return cut(shown, limit) if limit else ""
