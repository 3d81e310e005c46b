"""The Spark reader of RocketMQ's store files."""
