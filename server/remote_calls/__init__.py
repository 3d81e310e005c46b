"""Calls of 5.x clients in front of a cluster far away: the methods of `server.grpc` over remoting connections.

Begin with `dispatch`, which asks the brokers; `front` puts the parts together, `pop_emulation` stands in for POP.
May import: every room that its layer allows (pyproject.toml); `native`, `remoting`, `wire`.
"""
