"""Sending recorded requests to an endpoint, and comparing its answers with the recorded ones.

Begin with `player`; `compare` judges the answers.
May import: `file`, `contents`; `remoting`, `wire`.
"""
