"""Pulls: checks, answers, long polling.

Begin with `handlers`; `services` has the checks, also for `kernel`, and `long_poll` holds pulls that find nothing.
May import: every room that its layer allows (pyproject.toml); `store`, `wire`.
"""
