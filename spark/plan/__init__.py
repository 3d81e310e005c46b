"""Splits a read of stores into tasks."""
