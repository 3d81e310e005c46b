"""The timer's durable state: timer log, timer wheel, and the progress of both.

Begin with `timer_index`, the interface to the server's timer; `log` and `wheel` are its files, `recovery` checks them.
May import: `layout`, `disk`, `tables`; `native`, `wire`.
"""
