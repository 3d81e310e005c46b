"""From a request, in a frame or of a gRPC call, to its handler, past access control; the groups of appends.

Begin with `dispatcher`; `execution` does what a handler returns, `group` stores what consecutive requests append.
May import: `core`, `net`, `messages`; `remoting`, `store`, `wire`.
"""
