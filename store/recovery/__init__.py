"""Recovery at the start of a store, after a clean stop or a crash.

Begin with `recovery`; `replay` brings queues and index up to the log's end.
May import: `layout`, `records`, `log`, `queues`; `wire`.
"""
