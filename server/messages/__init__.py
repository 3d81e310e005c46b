"""Storing groups of messages, and restoring messages that waited in one of the broker's topics.

Begin with `message_writer`, by which services store; `restoring` and `stored_message` make messages from
stored records.
May import: `core`, `config`; `native`, `store`, `wire`.
"""
