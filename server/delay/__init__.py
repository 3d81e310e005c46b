"""Messages with a delay level: storing them, delivering them, and recovery after a crash.

Begin with `levels`, how they are stored; `delivery` is the task, `progress` how far it got, `progress_recovery` the
recovery.
May import: `core`, `config`, `messages`; `store`, `wire`.
"""

from rocketwire.server.delay.levels import delay_level, queue_of_level, scheduled_draft

__all__ = ["delay_level", "queue_of_level", "scheduled_draft"]
