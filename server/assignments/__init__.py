"""Assignments: whether a consumer group pulls or pops a topic, and which queues each of its clients has."""
