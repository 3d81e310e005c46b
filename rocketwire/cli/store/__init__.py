"""`rocketwire store`: read-only commands on a store directory, one module per subcommand, each with `add_parser`.

The directory may be of any broker, at rest or in use; these commands change nothing in it. `repair` writes a new one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocketwire.cli.store import cat, info, ls, repair, verify

if TYPE_CHECKING:
    from rocketwire.cli.serve import Commands

_SUBCOMMANDS = (info, ls, cat, verify, repair)


def add_parser(commands: Commands) -> None:
    """Add `store` to the commands."""
    parser = commands.add_parser(
        "store",
        help="look into a store directory, check it, make a whole one of a damaged one",
        description=(
            "Look into a store directory of this or Apache's broker, at rest or in use. Nothing in it is changed: "
            "repair writes a new one beside one that no broker uses."
        ),
    )
    subcommands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for subcommand in _SUBCOMMANDS:
        subcommand.add_parser(subcommands)
