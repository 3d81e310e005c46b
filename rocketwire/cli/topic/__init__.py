"""`rocketwire topic`: the topics of a running endpoint.

Begin with this file: it lists the subcommands.
May import: modules of `rocketwire/cli`, and what commands may; a module is imported when its command runs.
"""

from __future__ import annotations

from typing import Final

from rocketwire.cli.lazy import lazy_group

command: Final = lazy_group(
    __name__,
    "Show and change the topics of a running endpoint, this or Apache's.",
    [
        ("list", "show:list_command", "the names of all topics, or of one kind"),
        ("show", "show:show_command", "a topic's configuration on each broker"),
        ("route", "show:route_command", "where a topic's queues are"),
        ("stats", "show:stats_command", "where a topic's queues begin and end"),
        ("create", "change:create_command", "create a topic"),
        ("alter", "change:alter_command", "change a topic's configuration"),
        ("delete", "change:delete_command", "delete a topic with its messages"),
    ],
)
