"""`rocketwire compat`: which official clients work with an endpoint.

Begin with this file: it lists the subcommands.
May import: modules of `rocketwire/cli`, and what commands may; a module is imported when its command runs.
"""

from __future__ import annotations

from typing import Final

from rocketwire.cli.lazy import lazy_group

command: Final = lazy_group(
    __name__,
    "Which official clients and features work with an endpoint, this or another's, and where it behaves otherwise.",
    [
        ("run", "run", "run scenarios with official clients, and write a report"),
        ("list", "list", "the scenarios, and which clients can run here"),
        ("report", "report:report_command", "make one report of the results of earlier runs"),
    ],
)
