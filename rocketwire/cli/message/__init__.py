"""`rocketwire message`: messages of a running endpoint, one module per subcommand, each with `add_parser`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocketwire.cli.message import export

if TYPE_CHECKING:
    from rocketwire.cli.serve import Commands


def add_parser(commands: Commands) -> None:
    """Add `message` to the commands."""
    parser = commands.add_parser(
        "message",
        help="take messages out of a running endpoint",
        description="Take messages out of a running endpoint, this or Apache's.",
    )
    subcommands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    export.add_parser(subcommands)
