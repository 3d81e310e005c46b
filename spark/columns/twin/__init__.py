"""The kernel in numpy and Arrow: used where the native one was not built, and compared with it in tests.

`rocketwire.spark.columns.kernel` documents the functions. Only the CRC of bodies, and unusual property texts, are done
record by record.

- `places`: where whole records are, and where their parts, as the store finds them (store.records.checked_batch)
- `fields`: what stands at fixed places in them
- `gathering`: parts of a buffer as one Arrow column;  `texts`: what the property texts say;  `endings`: tags,
  where nothing else of these is wanted;  `hosts`: addresses and ids
- `columns`: the table of columns
"""

from rocketwire.spark.columns.twin.columns import columns, tags_are
from rocketwire.spark.columns.twin.fields import heads
from rocketwire.spark.columns.twin.places import bodies_good, check, topics, whole_records

__all__ = ["bodies_good", "check", "columns", "heads", "tags_are", "topics", "whole_records"]
