"""Sends and replies: checks, drafts of the messages to store, answers.

Begin with `handlers`; `checks` decides, also for `kernel`, and `drafts` makes the drafts.
May import: every room that its layer allows (pyproject.toml); `native`, `remoting`, `store`, `wire`.
"""
