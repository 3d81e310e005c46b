"""One broker: its store and services, put together and kept running.

Begin with `broker`, which lists the parts and starts them. Each other file makes one part: what all stand on
(`foundation`), the `tables`, and what takes, delivers, delays and administers messages.
May import: every room that its layer allows (pyproject.toml); `native`, `store`, `wire`.
"""
