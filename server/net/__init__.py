"""Connections of clients: listeners, sessions, reading, answering, back-pressure, TLS.

Begin with `session`, one connection; `listener` accepts it, `reader` or the kernel's `hub` reads it, `answers` and
`output` answer.
May import: `core`, `config`, `limits`; `native`, `remoting`, `wire`.
"""
