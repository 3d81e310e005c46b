"""The name server and the broker on one trio event loop.

Begin with `serving`, which puts a name server and a broker together; `registry` lists the request codes.
May import: `remoting`, `store` and `wire`. The rooms have an order: docs/architecture.md.
"""
