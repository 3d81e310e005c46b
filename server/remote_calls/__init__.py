"""Calls of 5.x clients in a proxy: the methods of `server.grpc`, as requests to brokers on remoting connections.

Begin with `dispatch`, which sends the requests; `front` puts the parts together, `pop_emulation` serves pops by
pulls.
May import: every room that its layer allows (pyproject.toml); `native`, `remoting`, `wire`.
"""
