"""The Go client of 5.x."""
