"""Connected clients: groups and their members, heartbeats, queue locks, requests to clients."""
