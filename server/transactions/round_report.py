"""What one round of the back-check did, counted, and written to the log in one line.

There may be any number of undecided half messages, so no line is about a single one.
"""

from __future__ import annotations

import logging
from collections import Counter
from typing import Final

from rocketwire.wire import names

log = logging.getLogger(__name__)

_MOST_NAMED: Final = 5  # groups in the line


class RoundReport:
    """Counts what became of the half messages that one round came to.

    Attributes:
        asked: How many back-checks were sent.
        given_up: How many were moved to TRANS_CHECK_MAX_TIME_TOPIC.
        gone: How many were not in the log any more.
        failed: How many could not be checked, because of something unforeseen.
        unasked: By producer group, how many have no producer for a back-check.
        too_long: By producer group, how many fit in no question.
    """

    def __init__(self) -> None:
        self.asked = 0
        self.given_up = 0
        self.gone = 0
        self.failed = 0
        self.unasked: Counter[str] = Counter()
        self.too_long: Counter[str] = Counter()

    def log_summary(self) -> None:
        """Log one line, unless a back-check was sent for each."""
        parts = [
            f"{count} {what}"
            for count, what in (
                (self.given_up, f"were given up and moved to {names.TRANS_CHECK_MAX_TIME_TOPIC}"),
                (self.gone, "are gone from the log, undecided"),
                (self.failed, "cannot be checked"),
                (self.too_long.total(), f"are too long to ask about, of producer group {_named(self.too_long)}"),
                (self.unasked.total(), f"have no producer here to be asked, of producer group {_named(self.unasked)}"),
            )
            if count
        ]
        if not parts:
            return
        if self.asked:
            parts.append(f"{self.asked} were asked about")
        harmless = not (self.given_up or self.gone or self.failed or self.too_long)
        log.log(
            logging.INFO if harmless else logging.WARNING,
            "transaction check: of the undecided half messages %(counts)s",
            {"counts": "; ".join(parts)},
        )


def _named(groups: Counter[str]) -> str:
    """The groups with most messages, and how many others there are."""
    named = [f"{group} ({count})" for group, count in groups.most_common(_MOST_NAMED)]
    others = len(groups) - len(named)
    return ", ".join(named) + (f" and {others} more" if others else "")
