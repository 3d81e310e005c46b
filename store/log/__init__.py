"""The commit log: the messages of all topics, one after the other."""
