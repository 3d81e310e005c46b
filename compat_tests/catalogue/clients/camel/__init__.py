"""Apache Camel's component for RocketMQ; `sources` has its programs."""
