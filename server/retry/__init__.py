"""Messages that consumers give back, to come again later."""
