"""The name server: which brokers there are, what they serve, key-value settings."""
