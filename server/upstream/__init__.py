"""Servers in other processes: connections to them, routes and brokers from name servers, registration of the broker.

Begin with `broker_connection`, one connection; `connection_pool` and `requests` use it, `cluster` knows the brokers.
May import: `core`, `config`, `limits`, `net`, `topics`, `name_server`; `remoting`, `store`, `wire`.
"""
