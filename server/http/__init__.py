"""A small HTTP server for operators and monitoring; no RocketMQ client uses it."""
