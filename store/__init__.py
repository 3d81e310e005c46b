"""Durable state: RocketMQ's own files. Files are opened in `disk` only.

Begin with `protocol`, the interface for services, and `store`, which puts it together; docs/files.md has the files.
May import: `rocketwire.wire` and `rocketwire.native`.
"""
