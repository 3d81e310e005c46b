"""`rocketwire timer`: waiting timer messages.

Begin with this file: it lists the subcommands.
May import: modules of `rocketwire/cli`, and what commands may; a module is imported when its command runs.
"""

from __future__ import annotations

from typing import Final

from rocketwire.cli.lazy import lazy_group

command: Final = lazy_group(
    __name__,
    "Messages that wait for a set time: in a store directory, live or at rest, "
    "or on the brokers of a running endpoint; this or Apache's.",
    [
        ("stats", "stats", "what waits in all, by topic and by hour"),
        ("list", "show:list_command", "the next messages that wait, in the order of their times"),
        (
            "show",
            "show:show_command",
            "the next slots of a store's wheel, or how one message waits",
        ),
        ("cancel", "cancel", "have a message that waits not delivered"),
    ],
    aliases={"ls": "list"},
)
