"""The proxy that records the traffic between clients and an endpoint.

Begin with `proxy`; `relay` handles the bytes of one connection.
May import: `file`, `contents`; `wire`.
"""
