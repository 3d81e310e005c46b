"""What was popped and not acknowledged comes again, by the revive topic, or by an offset that its group is set to."""
