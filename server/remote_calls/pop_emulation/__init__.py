"""POP in front of brokers that have none: by pulls, offsets and queue locks, with what is in flight in memory.

Begin with `service`; `group` and `queue` have what is in flight.
May import: `core`, `topics`, `upstream`; `remoting`, `wire`.
"""
