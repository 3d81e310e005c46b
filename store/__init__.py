"""Durable state: RocketMQ's own files. Files are opened in `disk` only."""
