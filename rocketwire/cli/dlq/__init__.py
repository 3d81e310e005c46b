"""`rocketwire dlq`: the dead letters of consumer groups, one module per subcommand.

Begin with this file: it lists the subcommands. A module without a subcommand is shared by the others.
May import: modules of `rocketwire/cli`, and what commands may; a module is imported when its command runs.
"""

from __future__ import annotations

from typing import Final

from rocketwire.cli.lazy import lazy_group

command: Final = lazy_group(
    "dlq",
    "Dead letters: the messages that a group could not process in all its tries, in its topic %DLQ%GROUP.",
    [
        ("list", "rocketwire.cli.dlq.list", "the groups with dead letters, and how many there are"),
        ("show", "rocketwire.cli.dlq.show", "the newest dead letters of a group"),
        ("resend", "rocketwire.cli.dlq.resend", "send dead letters of a group again"),
    ],
)
