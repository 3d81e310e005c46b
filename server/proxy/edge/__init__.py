"""What a proxy lets through: codes that its access control decides about, requests that wait for that, read-only.

Begin with `codes` and `held_requests`.
May import: `core`, `net`, `messages`, `acl`, `transactions`, `remote_calls`; `wire`.
"""
