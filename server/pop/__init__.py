"""POP: consumers take messages for a limited time, and the broker redelivers those not acknowledged (docs/pop.md).

Begin with `handlers`; `pops` puts the parts together, `pop_reader` takes messages, `acks` acknowledges them.
May import: every room that its layer allows (pyproject.toml); `native`, `remoting`, `store`, `wire`.
"""
