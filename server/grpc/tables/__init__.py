"""What calls know of topics, groups and clients: the broker's own topics and groups or those of a cluster far away.

Begin with `directories`; `client_ids` says who has a client id, `declarations` what clients say of themselves.
May import: `config`, `topics`; `wire`.
"""
