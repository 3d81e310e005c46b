"""Consumer offsets: how far groups have consumed.

Begin with `handlers`, the requests; `consumed` commits.
May import: `core`, `transactions`; `store`, `wire`.
"""
