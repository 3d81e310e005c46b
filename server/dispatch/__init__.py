"""Dispatch: from a frame to its handler, past access control."""
