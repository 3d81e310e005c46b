"""construct declarations of every store file."""
