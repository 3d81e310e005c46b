"""The history of messages: hops of traces, dead letters with their first cause, delays (docs/spark-guide.md).

Each function takes frames of messages, as the data source reads them, with `includeSystemTopics` where its description
requires it. The functions work with Spark 3.5 and 4.x.

Begin with `hops`.
May import: `bodies`; `wire`.
"""

from __future__ import annotations

from rocketwire.spark.history.dead_letters import dead_letters
from rocketwire.spark.history.delays import delays
from rocketwire.spark.history.hops import consumptions, hops

__all__ = ["consumptions", "dead_letters", "delays", "hops"]
