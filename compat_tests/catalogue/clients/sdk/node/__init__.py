"""The client of 5.x for Node.js."""
