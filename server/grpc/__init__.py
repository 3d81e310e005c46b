"""The front for clients of 5.x: HTTP/2 connections, their calls, and the broker's request for each call.

Modules that import protobuf or HTTP/2 are imported with the first such connection (`front`): they cost memory and time.

Begin with `calls`, which carries out a call, and `methods`, the table of calls; `front` gets the connections from
listeners.
May import: every room that its layer allows (pyproject.toml); `native`, `remoting`, `store`, `wire`.
"""
