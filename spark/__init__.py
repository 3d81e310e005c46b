"""RocketMQ stores and endpoints in Spark: the PySpark data source `rocketmq` (docs/spark.md)."""

from rocketwire.spark.starting import jar, session

__all__ = ["jar", "session"]
