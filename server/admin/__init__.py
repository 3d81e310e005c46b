"""Administration: topics, groups, consumer progress, configuration and runtime information."""
