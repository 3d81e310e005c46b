"""The timer files of a store directory, for who only looks."""
