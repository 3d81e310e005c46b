"""The client with threads: its calls block.

Begin with `producer`; `runner` performs the steps of the core, `channel` is a connection.
May import: `core`; `wire`.
"""
