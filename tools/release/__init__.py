"""Releases: their version, their files, and the trial of each file (docs/releasing.md)."""
