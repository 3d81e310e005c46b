"""Redelivery of popped messages without an acknowledgement: by the revive topic, or by an offset reset of a group.

Begin with `reviver`, the task; `pending_check_points` joins check points and acknowledgements, `redelivery` stores
messages again.
May import: `core`, `config`, `messages`, `timer`, `offsets`; `remoting`, `store`, `wire`.
"""
