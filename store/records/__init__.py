"""Reading records in bulk: columns, properties, walks over the log."""
