"""`rocketwire message`: messages of a running endpoint, one module per subcommand.

Begin with this file: it lists the subcommands. A module without a subcommand is shared by the others.
May import: modules of `rocketwire/cli`, and what commands may; a module is imported when its command runs.
"""

from __future__ import annotations

from typing import Final

from rocketwire.cli.lazy import lazy_group

command: Final = lazy_group(
    "message",
    "Send, follow, find and copy messages of a running endpoint, this or Apache's.",
    [
        ("send", "rocketwire.cli.message.send", "send lines, JSON lines or files"),
        ("tail", "rocketwire.cli.message.tail", "the last messages of a topic, or each new one as it comes"),
        ("show", "rocketwire.cli.message.show", "one message by its id"),
        ("query", "rocketwire.cli.message.query", "the messages with a key or an id"),
        ("resend", "rocketwire.cli.message.resend", "send a stored message again, to a topic or to one consumer"),
        ("export", "rocketwire.cli.message.export", "write the messages of a topic as JSON lines or CSV"),
        ("import", "rocketwire.cli.message.import_", "send what `message export` wrote"),
        ("trace", "rocketwire.cli.trace.show", "when a message was sent, stored and consumed, by whom"),
    ],
    aliases={"get": "show"},
)
