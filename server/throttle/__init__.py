"""Quotas: limits of messages sent and received per second, and the refusals above them.

Begin with `throttle`, which decides; `bucket` is the limit of one quota, `quotas` their syntax, `backlog` the other
reason to refuse.
May import: `core`, `config`, `topics`; `native`, `store`, `wire`.
"""
