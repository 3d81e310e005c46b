"""One broker: its store and services, put together and kept running.

Begin with `broker`, which lists the parts and starts them. Each other file makes one part: the basis of all others
(`foundation`), the `tables`, and the services that accept, deliver, delay and administer messages.
May import: every room that its layer allows (pyproject.toml); `native`, `store`, `wire`.
"""
