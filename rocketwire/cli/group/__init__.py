"""`rocketwire group`: consumer groups of a running endpoint, one module per subcommand, each with `add_parser`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocketwire.cli.group import check

if TYPE_CHECKING:
    from rocketwire.cli.serve import Commands


def add_parser(commands: Commands) -> None:
    """Add `group` to the commands."""
    parser = commands.add_parser(
        "group",
        help="ask a running endpoint about consumer groups",
        description="Ask a running endpoint, this or Apache's, about consumer groups.",
    )
    subcommands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    check.add_parser(subcommands)
