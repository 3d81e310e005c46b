"""Sending recorded requests to an endpoint, and comparing its answers with the recorded ones.

Begin with `player`; `compare` and `masks` judge the answers.
May import: `file`, `contents`; `remoting`, `wire`.
"""
