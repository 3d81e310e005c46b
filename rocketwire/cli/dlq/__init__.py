"""`rocketwire dlq`: the dead letters of consumer groups.

Begin with this file: it lists the subcommands.
May import: modules of `rocketwire/cli`, and what commands may; a module is imported when its command runs.
"""

from __future__ import annotations

from typing import Final

from rocketwire.cli.lazy import lazy_group

command: Final = lazy_group(
    __name__,
    "Dead letters: the messages that a group could not process in all its tries, in its topic %DLQ%GROUP.",
    [
        ("list", "show:list_command", "the groups with dead letters, and how many there are"),
        ("show", "show:show_command", "the newest dead letters of a group"),
        ("resend", "resend", "send dead letters of a group again"),
    ],
)
