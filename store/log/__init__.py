"""The commit log: the messages of all topics in one sequence; and the checkpoint.

Begin with `commit_log`.
May import: `layout`, `disk`, `records`; `native`, `wire`.
"""
