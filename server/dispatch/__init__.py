"""Dispatch: access control and the handler of each request, in a frame or of a gRPC call; the groups of appends.

Begin with `dispatcher`; `execution` carries out the result of a handler, `group` stores the drafts of consecutive
requests.
May import: `core`, `net`, `messages`; `remoting`, `store`, `wire`.
"""
