"""Receives, and what becomes of what they gave: acknowledgements, handles, deliveries.

Begin with `receiving` and `acknowledging`, which serve every call; `kernel_receives` and `kernel_acks` serve plain ones
together.
May import: `core`, `messages`, `acl`, `pop`; `native`, `remoting`, `store`, `wire`.
"""
