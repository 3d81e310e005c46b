"""gRPC calls over HTTP/2, the server's side: bytes in, calls out, and back, without I/O.

`events` has the interface and describes what happens on a connection; `connection` implements it, and is imported only
where a gRPC connection exists. `kernel/http2` implements the same in C, on nghttp2.

Begin with `events`; `connection` is the implementation in Python.
May import: no other room.
"""
