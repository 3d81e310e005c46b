"""`rocketwire trace`: message traces, one module per subcommand, each with `add_parser`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocketwire.cli.trace import show

if TYPE_CHECKING:
    from rocketwire.cli.serve import Commands


def add_parser(commands: Commands) -> None:
    """Add `trace` to the commands."""
    parser = commands.add_parser(
        "trace",
        help="a message's way from its producer to its consumers",
        description="Ask a running endpoint, this or Apache's, for the traces that clients with enableMsgTrace leave.",
    )
    subcommands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    show.add_parser(subcommands)
