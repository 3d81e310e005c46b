"""The store's upkeep: opening, flushing, lifetimes of files, files that are gone."""
