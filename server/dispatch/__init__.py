"""From a frame to its handler, past access control."""
