"""What was popped and not acknowledged is redelivered: by the revive topic, or by an offset that a group is set to."""
