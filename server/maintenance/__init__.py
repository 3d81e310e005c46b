"""The store's maintenance: opening, flushing, removing expired files, noticing missing ones."""
