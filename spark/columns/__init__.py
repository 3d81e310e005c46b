"""Makes Arrow columns from the records in a buffer: by the native kernel, or by its twin."""
