"""Finding messages in a store directory, and summaries of what it holds."""
