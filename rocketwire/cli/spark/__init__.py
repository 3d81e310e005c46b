"""`rocketwire spark`: commands that run Spark, one module per subcommand.

Begin with this file: it lists the subcommands. A module without a subcommand is shared by the others.
May import: modules of `rocketwire/cli`, and what commands may; a module is imported when its command runs.
"""

from __future__ import annotations

from typing import Final

from rocketwire.cli.lazy import lazy_group

command: Final = lazy_group(
    "spark",
    "Commands that need PySpark and Java: pip install 'rocketwire[spark]'.",
    [
        ("export", "rocketwire.cli.spark.export", "write the messages of stores to Parquet files, by topic and day"),
        ("import", "rocketwire.cli.spark.importing", "send the rows of a table as messages"),
    ],
)
