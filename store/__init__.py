"""Durable state: RocketMQ's own files. Files are opened in files.py and segment.py only."""
