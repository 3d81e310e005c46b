"""The name server and the broker on one trio event loop."""
