"""`rocketwire group`: consumer groups of a running endpoint, one module per subcommand.

Begin with this file: it lists the subcommands. A module without a subcommand is shared by the others.
May import: modules of `rocketwire/cli`, and what commands may; a module is imported when its command runs.
"""

from __future__ import annotations

from typing import Final

from rocketwire.cli.lazy import lazy_group

command: Final = lazy_group(
    "group",
    "Look at and change the consumer groups of a running endpoint, this or Apache's.",
    [
        ("list", "rocketwire.cli.group.list", "all groups, with their members and lag"),
        ("show", "rocketwire.cli.group.show", "a group's configuration, members and subscriptions"),
        ("members", "rocketwire.cli.group.list_members", "a group's members and the queues that each has"),
        ("lag", "rocketwire.cli.group.lag", "how far a group is behind in each queue"),
        ("check", "rocketwire.cli.group.check", "do the members of a consumer group subscribe to the same?"),
        ("create", "rocketwire.cli.group.create", "create a group, or change its configuration"),
        ("delete", "rocketwire.cli.group.delete", "delete a group"),
    ],
)
