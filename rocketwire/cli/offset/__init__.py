"""`rocketwire offset`: consumer groups' offsets at a running endpoint.

Begin with this file: it lists the subcommands.
May import: modules of `rocketwire/cli`, and what commands may; a module is imported when its command runs.
"""

from __future__ import annotations

from typing import Final

from rocketwire.cli.lazy import lazy_group

command: Final = lazy_group(
    __name__,
    "Show and set the offsets of consumer groups of a running endpoint, this or Apache's.",
    [
        ("show", "show:command", "a group's committed offsets"),
        ("reset", "reset:reset_command", "set a group back or forward in a topic"),
        ("skip", "reset:skip_command", "skip all messages that a group has not consumed yet"),
        ("clone", "clone", "give a group the offsets of another one"),
    ],
)
