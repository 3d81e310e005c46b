"""`rocketwire offset`: consumer groups' offsets at a running endpoint, one module per subcommand.

Begin with this file: it lists the subcommands. A module without a subcommand is shared by the others.
May import: modules of `rocketwire/cli`, and what commands may; a module is imported when its command runs.
"""

from __future__ import annotations

from typing import Final

from rocketwire.cli.lazy import lazy_group

command: Final = lazy_group(
    "offset",
    "Look at and set the offsets of consumer groups of a running endpoint, this or Apache's.",
    [
        ("show", "rocketwire.cli.offset.show", "a group's committed offsets"),
        ("reset", "rocketwire.cli.offset.reset", "set a group back or forward in a topic"),
        ("skip", "rocketwire.cli.offset.reset:skip_command", "skip all messages that a group has not consumed yet"),
        ("clone", "rocketwire.cli.offset.clone", "give a group the offsets of another one"),
    ],
)
