"""What to read of a store directory, and what is in it."""
