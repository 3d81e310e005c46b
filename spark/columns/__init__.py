"""Records out of a buffer as Arrow columns: by the native kernel, or by its twin."""
