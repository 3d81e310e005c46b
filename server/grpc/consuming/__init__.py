"""Receives, and what becomes of what they gave: acknowledgements, handles, deliveries."""
