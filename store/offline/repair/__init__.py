"""Repairing a store directory by writing a copy."""
