"""A small blocking client for the commands that ask a running endpoint, this or Apache's."""
