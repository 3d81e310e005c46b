"""The edge of a proxy: request codes that its access control decides, requests that wait for a decision, read-only.

Begin with `codes` and `held_requests`.
May import: `core`, `net`, `messages`, `acl`, `transactions`, `remote_calls`; `wire`.
"""
