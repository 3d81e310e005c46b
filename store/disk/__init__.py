"""Access to the file system: files, memory mappings, rows of files, and files that are gone."""
