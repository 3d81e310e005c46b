"""Delayed messages: storing (levels), delivery (delivery, progress), and recovery after a crash (settling)."""

from rocketwire.server.delay.levels import delay_level, queue_of_level, scheduled_draft

__all__ = ["delay_level", "queue_of_level", "scheduled_draft"]
