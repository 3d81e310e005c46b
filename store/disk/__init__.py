"""The file system as the store uses it: files, mappings, sequences of files, and checks for removed files.

Begin with `files`, which creates and opens the files; `segment` is one of fixed size, `segments` a sequence.
May import: `native`.
"""
