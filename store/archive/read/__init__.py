"""A store directory as files that somebody else may be writing."""
