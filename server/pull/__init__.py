"""Pulls: checks, answers, and pulls that wait for a message."""
