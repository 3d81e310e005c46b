"""The Python client of 5.x."""
