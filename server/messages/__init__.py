"""Storing groups of messages, and restoring messages that waited in a topic of the broker's own.

Begin with `message_writer`, by which services store; `restoring` and `stored_message` take up a stored record again.
May import: `core`, `config`; `native`, `store`, `wire`.
"""
