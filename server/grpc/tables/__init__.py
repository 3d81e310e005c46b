"""The tables behind calls: topics and groups, of the broker or of an upstream cluster, and clients.

Begin with `directories`; `client_ids` says who has a client id, `declarations` what clients say of themselves.
May import: `config`, `topics`; `wire`.
"""
