"""A small blocking client of endpoints, this or Apache's: for commands and for Spark's workers. It needs no server."""
