"""The front for clients of 5.x: HTTP/2 connections, their calls, and what each call is among the broker's requests.

Modules that import protobuf or HTTP/2 are imported with the first such connection (`front`): they cost memory and time.

Begin with `calls`, how a call is carried out, and `methods`, the table of them; `front` takes the connections.
May import: every room that its layer allows (pyproject.toml); `native`, `remoting`, `store`, `wire`.
"""
