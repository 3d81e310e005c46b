"""Assignments: whether a consumer group pulls or pops a topic, and which queues each of its clients has.

Begin with `handlers`, the requests; `assignments` decides, and `dividing` divides the queues.
May import: `core`, `config`, `topics`, `clients`; `remoting`, `store`, `wire`.
"""
