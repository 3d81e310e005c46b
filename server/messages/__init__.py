"""Messages on their way into the store, and taken up again from it."""
