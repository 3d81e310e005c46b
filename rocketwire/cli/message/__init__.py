"""`rocketwire message`: messages of a running endpoint.

Begin with this file: it lists the subcommands.
May import: modules of `rocketwire/cli`, and what commands may; a module is imported when its command runs.
"""

from __future__ import annotations

from typing import Final

from rocketwire.cli.lazy import lazy_group

command: Final = lazy_group(
    __name__,
    "Send, follow, find and copy messages of a running endpoint, this or Apache's.",
    [
        ("send", "send", "send lines, JSON lines or files"),
        ("tail", "tail", "the last messages of a topic, or each new one as it comes"),
        ("show", "show:command", "one message by its id"),
        ("query", "query", "the messages with a key or an id"),
        ("resend", "resend", "send a stored message again, to a topic or to one consumer"),
        ("export", "export:command", "write the messages of a topic as JSON lines or CSV"),
        ("import", "import_", "send what `message export` wrote"),
        ("trace", "rocketwire.cli.trace.show", "when a message was sent, stored and consumed, by whom"),
    ],
    aliases={"get": "show"},
)
