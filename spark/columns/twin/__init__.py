"""The kernel in numpy and Arrow: for where the native one was not built, and what that one is compared with.

`rocketwire.spark.columns.kernel` says what the functions give. No step is done record by record but for the CRC of
bodies and property texts that are odd.

- `places`: where whole records are;  `fields`: what stands at fixed places in them
- `gathering`: parts of a buffer as one Arrow column;  `texts`: what the property texts say;  `endings`: tags,
  where nothing else of these is wanted;  `hosts`: addresses and ids
- `columns`: the table of columns
"""

from rocketwire.spark.columns.twin.columns import columns, tags_are
from rocketwire.spark.columns.twin.fields import heads
from rocketwire.spark.columns.twin.places import bodies_good, check, topics, whole_records

__all__ = ["bodies_good", "check", "columns", "heads", "tags_are", "topics", "whole_records"]
