"""The name server: registered brokers, their topics, key-value configuration."""
