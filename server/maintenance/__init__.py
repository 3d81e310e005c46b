"""The store's upkeep: opening, flushing, removing expired files, noticing missing ones."""
