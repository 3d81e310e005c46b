"""Verifying a store directory."""
