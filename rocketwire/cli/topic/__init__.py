"""`rocketwire topic`: the topics of a running endpoint, one module per subcommand."""

from __future__ import annotations

from typing import Final

from rocketwire.cli.lazy import lazy_group

command: Final = lazy_group(
    "topic",
    "Look at and change the topics of a running endpoint, this or Apache's.",
    [
        ("list", "rocketwire.cli.topic.list", "the names of all topics"),
    ],
)
