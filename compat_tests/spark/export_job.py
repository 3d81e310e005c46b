"""An export in a separate process, to be killed: `python -m compat_tests.spark.export_job STORE DIR`.

It does what the command does, with small tasks, so that there are many points at which it can be killed.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path

from rocketwire.cli.spark.session import SparkRun
from rocketwire.spark.export import export
from rocketwire.spark.request.option_parsing import read_options


class Bar:
    def advance(self, count: int) -> None:
        """Print it, for the test that waits for a moment to kill this process."""
        print(count, flush=True)


@contextlib.contextmanager
def bar(total: int) -> Iterator[Bar]:
    print(total, flush=True)
    yield Bar()


if __name__ == "__main__":
    options = {"path": sys.argv[1], "columns": "*", "includeSystemTopics": "true", "maxBytesPerPartition": "128k"}
    with SparkRun("local[2]", Path(sys.argv[2]) / "_rocketwire" / "spark.log") as session:
        export(session.started, read_options(options), sys.argv[2], bar=bar)
