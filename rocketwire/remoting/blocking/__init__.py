"""The client whose calls block: the names and arguments of `aio`, without `await`.

Begin with `clients`; `runner` performs operations in the event loop of a thread.
May import: `aio`, `core`; `wire`.
"""
