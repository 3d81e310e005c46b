"""Durable state: RocketMQ's own files. Files are opened in `disk` only.

Begin with `protocol`, what services ask of a store, and `store`, which puts it together; docs/files.md has the files.
May import: `rocketwire.wire` and `rocketwire.native`.
"""
