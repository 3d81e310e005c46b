"""Consumer offsets: commits and queries of them.

Begin with `handlers`, the requests; `consumed` commits.
May import: `core`, `transactions`; `store`, `wire`.
"""
