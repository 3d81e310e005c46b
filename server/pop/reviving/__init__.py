"""What was popped and not acknowledged comes again: the revive topic, read and joined."""
