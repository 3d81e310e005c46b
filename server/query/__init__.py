"""Looking messages up by key and by id."""
