"""Messages that consumers give back, to be redelivered later."""
