"""Access control as 4.x's plain ACL does it: accounts in a file, signed requests, white lists.

Imported only where it is enabled: it brings a YAML reader along.
"""
