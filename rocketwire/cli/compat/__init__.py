"""`rocketwire compat`: which official clients work with an endpoint, one module per subcommand.

Begin with this file: it lists the subcommands. A module without a subcommand is shared by the others.
May import: modules of `rocketwire/cli`, and what commands may; a module is imported when its command runs.
"""

from __future__ import annotations

from typing import Final

from rocketwire.cli.lazy import lazy_group

command: Final = lazy_group(
    "compat",
    "Which official clients and features work with an endpoint, this or another's, and where it behaves otherwise.",
    [
        ("run", "rocketwire.cli.compat.run", "run scenarios with official clients, and write a report"),
        ("list", "rocketwire.cli.compat.list", "the scenarios, and which clients can run here"),
        ("report", "rocketwire.cli.compat.report", "make one report of the results of earlier runs"),
    ],
)
