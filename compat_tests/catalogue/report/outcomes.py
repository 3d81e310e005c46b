"""The sign of each outcome, which is clear without colour."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from rocketwire.compat.results import Outcome

SYMBOLS: Final[Mapping[Outcome, str]] = {
    Outcome.PASS: "✓",
    Outcome.DIFFERS: "≠",
    Outcome.FAILS: "✗",
    Outcome.FLAKY: "↻",
    Outcome.NOT_OFFERED: "\u2013",
}

LETTERS: Final[Mapping[Outcome, str]] = {
    Outcome.PASS: "p",
    Outcome.DIFFERS: "d",
    Outcome.FAILS: "f",
    Outcome.FLAKY: "y",
    Outcome.NOT_OFFERED: "n",
}
"""The classes of the page's cells."""

MEANINGS: Final[Mapping[Outcome, str]] = {
    Outcome.PASS: "it ran and did what the scenario claims",
    Outcome.DIFFERS: "it ran, and the endpoint behaved otherwise",
    Outcome.FAILS: "the client threw, or did not end in time",
    Outcome.FLAKY: "it did not pass, and passed when it ran again; counts as passed",
    Outcome.NOT_OFFERED: "the endpoint's settings or the client lack what it needs; does not count",
}
