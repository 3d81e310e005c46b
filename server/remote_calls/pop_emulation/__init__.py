"""POP in front of brokers that have none: by pulls, offsets and queue locks, with what is in flight in memory."""
