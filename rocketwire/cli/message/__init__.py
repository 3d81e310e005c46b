"""`rocketwire message`: messages of a running endpoint, one module per subcommand."""

from __future__ import annotations

from typing import Final

from rocketwire.cli.lazy import lazy_group

command: Final = lazy_group(
    "message",
    "Take messages out of a running endpoint, this or Apache's.",
    [
        ("export", "rocketwire.cli.message.export", "write the messages of a topic as JSON lines or CSV"),
    ],
)
