"""What an endpoint's own client does, written once for both front ends (`rocketwire.remoting.core.steps`).

Begin with `user`.
May import: `remoting`, `wire`.
"""
