"""`rocketwire trace`: message traces.

Begin with this file: it lists the subcommands.
May import: modules of `rocketwire/cli`, and what commands may; a module is imported when its command runs.
"""

from __future__ import annotations

from typing import Final

from rocketwire.cli.lazy import lazy_group

command: Final = lazy_group(
    __name__,
    "Query a running endpoint, this or Apache's, for the traces that clients with enableMsgTrace write.",
    [
        ("show", "show", "when a message was sent, stored and consumed, by whom"),
    ],
)
