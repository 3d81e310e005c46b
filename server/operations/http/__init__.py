"""A small HTTP server for people and machines that look after the process: no RocketMQ client speaks to it."""
