"""What all rooms build on: requests, replies, routes, errors and their codes, long requests, clock, logs, counters.

Begin with `request` and `route`; then `errors`, the one table from error to response code, and `append`.
May import: `remoting`, `store`, `wire`.
"""
