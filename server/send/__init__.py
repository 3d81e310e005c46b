"""Sends and replies: checks, what becomes a message in the store, the answer.

Begin with `handlers`; `checks` decides, also for `kernel`, and `drafts` makes what is stored.
May import: every room that its layer allows (pyproject.toml); `native`, `store`, `wire`.
"""
