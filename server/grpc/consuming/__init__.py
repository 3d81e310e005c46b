"""Receives and their outcomes: deliveries, receipt handles, acknowledgements.

Begin with `receiving` and `acknowledging`, which serve every call; `kernel_receives` and `kernel_acks` serve plain ones
together.
May import: `core`, `messages`, `acl`, `pop`; `native`, `remoting`, `store`, `wire`.
"""
