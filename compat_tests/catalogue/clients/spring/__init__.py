"""Spring's starter for RocketMQ; `sources` has its programs."""
