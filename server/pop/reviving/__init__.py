"""What was popped and not acknowledged is redelivered: by the revive topic, or by an offset that a group is set to.

Begin with `reviver`, the task; `pending_check_points` joins what the revive topic says, `redelivery` stores messages
again.
May import: `core`, `config`, `messages`, `timer`, `offsets`; `remoting`, `store`, `wire`.
"""
