"""The file system: files, mappings, rows of files, and files that are gone."""
