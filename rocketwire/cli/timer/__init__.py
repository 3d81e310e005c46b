"""`rocketwire timer`: waiting timer messages, one module per subcommand, each with `add_parser`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rocketwire.cli.timer import cancel, ls, show, stats

if TYPE_CHECKING:
    from rocketwire.cli.serve import Commands

_SUBCOMMANDS: Final = (stats, ls, show, cancel)


def add_parser(commands: Commands) -> None:
    """Add `timer` to the commands."""
    parser = commands.add_parser(
        "timer",
        help="messages that wait for a set time",
        description=(
            "Messages that wait for a set time: in a store directory, live or at rest, or on the brokers of a running "
            "endpoint; this or Apache's."
        ),
    )
    subcommands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for subcommand in _SUBCOMMANDS:
        subcommand.add_parser(subcommands)
