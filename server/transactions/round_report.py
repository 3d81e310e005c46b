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
    """Counts the results of one round of back-checks.

    Attributes:
        sent: How many back-checks were sent.
        moved: How many half messages were moved to TRANS_CHECK_MAX_TIME_TOPIC.
        missing: How many were not in the log any more.
        failed: How many could not be checked, because of something unforeseen.
        without_producer: By producer group, how many have no producer for a back-check.
        too_long: By producer group, how many are too long for a back-check.
    """

    def __init__(self) -> None:
        self.sent = 0
        self.moved = 0
        self.missing = 0
        self.failed = 0
        self.without_producer: Counter[str] = Counter()
        self.too_long: Counter[str] = Counter()

    def log_summary(self) -> None:
        """Log one line, unless a back-check was sent for each."""
        parts = [
            f"{count} {what}"
            for count, what in (
                (self.moved, f"were given up and moved to {names.TRANS_CHECK_MAX_TIME_TOPIC}"),
                (self.missing, "are gone from the log, undecided"),
                (self.failed, "cannot be checked"),
                (self.too_long.total(), f"are too long to ask about, of producer group {_named(self.too_long)}"),
                (
                    self.without_producer.total(),
                    f"have no producer here to be asked, of producer group {_named(self.without_producer)}",
                ),
            )
            if count
        ]
        if not parts:
            return
        if self.sent:
            parts.append(f"{self.sent} were asked about")
        harmless = not (self.moved or self.missing or self.failed or self.too_long)
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
