"""The client in an endpoint for tests, written once for both front ends (`rocketwire.remoting.core.steps`).

Begin with `user`.
May import: `remoting`, `wire`.
"""
