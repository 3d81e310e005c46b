"""Recordings of the traffic between clients and an endpoint: the file, the recording proxy, the replay.

Begin with `file`, the recordings; then `record`, which makes them, and `replay`.
May import: `remoting`, `store` and `wire`.
"""
