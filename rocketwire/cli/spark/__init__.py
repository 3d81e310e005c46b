"""`rocketwire spark`: commands that run Spark, one module per subcommand."""

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
