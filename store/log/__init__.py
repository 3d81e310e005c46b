"""The commit log: the messages of all topics in one sequence."""
