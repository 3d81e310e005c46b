"""The name server: registered brokers, their topics, key-value configuration.

Begin with `routes`, the state; `handlers` and `admin_handlers` serve the requests.
May import: `core`, `config`, `limits`, `net`, `topics`; `remoting`, `store`, `wire`.
"""
