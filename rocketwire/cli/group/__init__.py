"""`rocketwire group`: consumer groups of a running endpoint, one module per subcommand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rocketwire.cli.group import check
from rocketwire.cli.lazy import lazy_group

if TYPE_CHECKING:
    from rocketwire.cli.serve import Commands

command: Final = lazy_group(
    "group",
    "Look at and change the consumer groups of a running endpoint, this or Apache's.",
    [
        ("list", "rocketwire.cli.group.list", "all groups, with their members and lag"),
        ("show", "rocketwire.cli.group.show", "a group's configuration, members and subscriptions"),
        ("members", "rocketwire.cli.group.list_members", "a group's members and the queues that each has"),
        ("lag", "rocketwire.cli.group.lag", "how far a group is behind in each queue"),
        ("create", "rocketwire.cli.group.create", "create a group, or change its configuration"),
        ("delete", "rocketwire.cli.group.delete", "delete a group"),
    ],
)


def add_parser(commands: Commands) -> None:
    """Add `group` to the commands."""
    parser = commands.add_parser(
        "group",
        help="ask a running endpoint about consumer groups",
        description="Ask a running endpoint, this or Apache's, about consumer groups.",
    )
    subcommands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    check.add_parser(subcommands)
