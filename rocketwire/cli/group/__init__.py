"""`rocketwire group`: consumer groups of a running endpoint, one module per subcommand."""

from __future__ import annotations

from typing import Final

from rocketwire.cli.lazy import lazy_group

command: Final = lazy_group(
    "group",
    "Ask a running endpoint, this or Apache's, about consumer groups.",
    [
        ("check", "rocketwire.cli.group.check", "do the members of a consumer group subscribe to the same?"),
    ],
)
