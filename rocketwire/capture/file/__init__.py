"""The file of a recording: docs/capture-format.md describes it."""
