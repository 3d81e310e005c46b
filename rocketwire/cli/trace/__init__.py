"""`rocketwire trace`: message traces, one module per subcommand."""

from __future__ import annotations

from typing import Final

from rocketwire.cli.lazy import lazy_group

command: Final = lazy_group(
    "trace",
    "Ask a running endpoint, this or Apache's, for the traces that clients with enableMsgTrace leave.",
    [
        ("show", "rocketwire.cli.trace.show", "when a message was sent, stored and consumed, by whom"),
    ],
)
