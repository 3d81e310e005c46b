"""A small blocking client for RocketMQ endpoints, used by the command line and by Spark's workers."""
