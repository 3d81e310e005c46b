"""Delayed messages: how they wait (levels), how they are delivered (delivery), and what is known after a crash."""

from rocketwire.server.delay.levels import delay_level, queue_of, scheduled_draft

__all__ = ["delay_level", "queue_of", "scheduled_draft"]
