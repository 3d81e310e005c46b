"""Writing: rows of a data frame become messages that are sent to an endpoint's brokers."""
