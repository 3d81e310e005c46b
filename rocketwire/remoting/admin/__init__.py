"""Administration of a cluster: what `mqadmin` does, as typed functions on connections.

A function sends one kind of request to one broker or name server. It raises Refused when that answers with an error,
and NotReached when it does not answer. The caller chooses the servers and their order.

Begin with `topics` or `groups`.
May import: `wire`.
"""
