"""What calls know of topics and groups, whether these are the broker's own or of a cluster far away."""
