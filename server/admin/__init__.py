"""Administration: topics, groups, progress, configuration and the state of the broker."""
