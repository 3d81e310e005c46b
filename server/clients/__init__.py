"""Connected clients: groups and their members, heartbeats, queue locks, requests that the broker sends to clients.

Begin with `groups`, the state; `heartbeats` changes it, `handlers` and `online_handlers` serve the requests about it.
May import: `core`, `config`, `limits`, `filters`, `topics`; `remoting`, `store`, `wire`.
"""
