"""The tables behind calls: topics and groups, of the broker or of an upstream cluster, and clients.

Begin with `directories`; `client_ids` has the owners of client ids, `declarations` what clients declare.
May import: `config`, `topics`; `wire`.
"""
