"""Queries of messages by key and by id.

Begin with `handlers`.
May import: `core`, `config`, `limits`, `filters`, `topics`, `clients`, `messages`, `acl`; `remoting`, `store`, `wire`.
"""
