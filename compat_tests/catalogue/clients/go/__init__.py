"""Apache's Go client; `runner` has its programs."""
