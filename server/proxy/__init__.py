"""A proxy in front of a cluster: ports for its brokers, relayed frames, its own routes and guards (docs/proxy.md).

Begin with `relay`, the dispatcher of one broker's port; `tunnels` are the connections, `name_server` the routes.
May import: every room that its layer allows (pyproject.toml); `native`, `remoting`, `store`, `wire`.
"""
