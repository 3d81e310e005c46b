"""The proxy that records what passes between clients and an endpoint.

Begin with `proxy`; `relay` handles the bytes of one connection.
May import: `file`, `contents`; `wire`.
"""
