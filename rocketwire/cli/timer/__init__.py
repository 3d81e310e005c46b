"""`rocketwire timer`: waiting timer messages, one module per subcommand.

Begin with this file: it lists the subcommands. A module without a subcommand is shared by the others.
May import: modules of `rocketwire/cli`, and what commands may; a module is imported when its command runs.
"""

from __future__ import annotations

from typing import Final

from rocketwire.cli.lazy import lazy_group

command: Final = lazy_group(
    "timer",
    "Messages that wait for a set time: in a store directory, live or at rest, "
    "or on the brokers of a running endpoint; this or Apache's.",
    [
        ("stats", "rocketwire.cli.timer.stats", "what waits in all, by topic and by hour"),
        ("list", "rocketwire.cli.timer.list", "the next messages that wait, in the order of their times"),
        ("show", "rocketwire.cli.timer.show", "the next slots of a store's wheel, or how one message waits"),
        ("cancel", "rocketwire.cli.timer.cancel", "have a message that waits not delivered"),
    ],
    aliases={"ls": "list"},
)
