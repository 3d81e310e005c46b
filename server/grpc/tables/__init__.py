"""What calls know of topics and groups, the broker's own or those of a cluster far away, and who has a client id.

Begin with `topics` and `groups`.
May import: `config`, `topics`; `wire`.
"""
