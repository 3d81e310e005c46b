"""Reading stored records in bulk: columns, properties, batches of the log."""
