"""The Java client of 5.x."""
