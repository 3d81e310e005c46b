"""Reads and writes messages of running endpoints, this or Apache's, over their protocol: the option `namesrv`.

Begin with `reading`; `planning` divides the read, `pulling` fetches, `stream` is the streaming reader.
May import: `request`, `read`, `stream`; `remoting`, `store`, `wire`.
"""
