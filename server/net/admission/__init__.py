"""Which connections are taken, and what all of them together may hold."""
