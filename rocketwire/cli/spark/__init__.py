"""`rocketwire spark`: commands that run Spark.

Begin with this file: it lists the subcommands.
May import: modules of `rocketwire/cli`, and what commands may; a module is imported when its command runs.
"""

from __future__ import annotations

from typing import Final

from rocketwire.cli.lazy import lazy_group

command: Final = lazy_group(
    __name__,
    "Commands that need PySpark and Java: pip install 'rocketwire[spark]'.",
    [
        ("export", "export", "write the messages of stores to Parquet files, by topic and day"),
        ("import", "importing", "send the rows of a table as messages"),
    ],
)
