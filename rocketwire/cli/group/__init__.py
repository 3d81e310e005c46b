"""`rocketwire group`: consumer groups of a running endpoint.

Begin with this file: it lists the subcommands.
May import: modules of `rocketwire/cli`, and what commands may; a module is imported when its command runs.
"""

from __future__ import annotations

from typing import Final

from rocketwire.cli.lazy import lazy_group

command: Final = lazy_group(
    __name__,
    "Show and change the consumer groups of a running endpoint, this or Apache's.",
    [
        ("list", "lag:list_command", "all groups, with their members and lag"),
        ("show", "show:show_command", "a group's configuration, members and subscriptions"),
        ("members", "show:members_command", "a group's members and the queues that each has"),
        ("lag", "lag:lag_command", "how far a group is behind in each queue"),
        ("check", "check:command", "do the members of a consumer group subscribe to the same?"),
        ("create", "change:create_command", "create a group, or change its configuration"),
        ("delete", "change:delete_command", "delete a group"),
    ],
)
