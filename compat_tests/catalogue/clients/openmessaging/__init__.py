"""The OpenMessaging client of RocketMQ; `sources` has its programs."""
