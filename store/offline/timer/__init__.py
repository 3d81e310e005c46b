"""Reading the timer files of a store directory."""
