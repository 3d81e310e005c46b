"""RocketMQ stores and endpoints in Spark: the PySpark data source `rocketmq` (docs/spark.md).

Begin with `source`, which Spark creates; it chooses between `read`, `stream` and `endpoint`.
May import: `remoting`, `store` and `wire`, and neither `server` nor trio.
"""

from rocketwire.spark.starting import jar, session

__all__ = ["jar", "session"]
