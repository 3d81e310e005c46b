"""Access control like 4.x's plain ACL: accounts in a file, signed requests, white lists.

Imported only where it is enabled, because it needs a YAML parser.
"""
