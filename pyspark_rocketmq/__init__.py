"""Registers the data source `rocketmq`: Spark takes `DefaultSource` of each package whose name begins with pyspark_."""

from rocketwire.spark.source import RocketMQDataSource as DefaultSource

__all__ = ["DefaultSource"]
