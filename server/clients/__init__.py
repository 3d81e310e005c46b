"""Who is connected: groups and their members, heartbeats, queue locks, questions to clients."""
