"""Access control like 4.x's plain ACL: accounts in a file, signed requests, white lists.

Imported only where it is enabled, because it needs a YAML parser.

Begin with `control`, which decides about each request; `access_rules` has the rule of each code, `file` the accounts'
file.
May import: `core`, `config`, `limits`, `clients`, `messages`; `store`, `wire`.
"""
