"""Writing: rows of a data frame become messages that are sent to an endpoint's brokers.

Begin with `writing`; `messages` encodes rows, `sending` sends them.
May import: `stream`; `remoting`, `wire`.
"""
