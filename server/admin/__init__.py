"""Requests of administrators: topics, groups, progress, configuration and runtime information of the broker.

Begin with `handlers`; `groups`, `progress`, `group_offsets` and `topic_lists` are the other families of requests.
May import: every room that its layer allows (pyproject.toml); `remoting`, `store`, `wire`.
"""
