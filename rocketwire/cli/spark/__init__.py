"""`rocketwire spark`: commands that run Spark, one module per subcommand, each with `add_parser`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocketwire.cli.spark import export

if TYPE_CHECKING:
    from rocketwire.cli.serve import Commands

_SUBCOMMANDS = (export,)


def add_parser(commands: Commands) -> None:
    """Add `spark` to the commands."""
    parser = commands.add_parser(
        "spark",
        help="what is done with Spark: stores to Parquet files",
        description="Commands that need PySpark and Java: pip install 'rocketwire[spark]'.",
    )
    subcommands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for subcommand in _SUBCOMMANDS:
        subcommand.add_parser(subcommands)
