"""POP for brokers without it: by pulls, offsets and queue locks, with the messages in flight in memory.

Begin with `service`; `group` and `queue` have the messages in flight.
May import: `core`, `topics`, `upstream`; `remoting`, `wire`.
"""
