"""RocketMQ stores and endpoints in Spark: the PySpark data source `rocketmq` (docs/spark.md)."""
