"""Sends the rows of a table as messages, for `rocketwire spark import` (docs/spark-guide.md, Import).

A checkpoint records the sent rows: a run continues where the last one stopped, and sends the new rows. Rows of a batch
that was interrupted are sent again.

Begin with `importing`.
May import: `endpoint`; `store`.
"""

from __future__ import annotations

from rocketwire.spark.importing.importing import DELTA_SETTINGS, TableSource, import_rows, settings

__all__ = ["DELTA_SETTINGS", "TableSource", "import_rows", "settings"]
