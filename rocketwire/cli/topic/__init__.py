"""`rocketwire topic`: the topics of a running endpoint, one module per subcommand.

Begin with this file: it lists the subcommands. A module without a subcommand is shared by the others.
May import: modules of `rocketwire/cli`, and what commands may; a module is imported when its command runs.
"""

from __future__ import annotations

from typing import Final

from rocketwire.cli.lazy import lazy_group

command: Final = lazy_group(
    "topic",
    "Look at and change the topics of a running endpoint, this or Apache's.",
    [
        ("list", "rocketwire.cli.topic.list", "the names of all topics, or of one kind"),
        ("show", "rocketwire.cli.topic.show", "a topic's configuration on each broker"),
        ("route", "rocketwire.cli.topic.route", "where a topic's queues are"),
        ("stats", "rocketwire.cli.topic.stats", "where a topic's queues begin and end"),
        ("create", "rocketwire.cli.topic.create", "create a topic"),
        ("alter", "rocketwire.cli.topic.alter", "change a topic's configuration"),
        ("delete", "rocketwire.cli.topic.delete", "delete a topic with its messages"),
    ],
)
