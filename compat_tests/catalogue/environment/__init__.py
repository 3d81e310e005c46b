"""Where the programs of clients and brokers come from: package managers, a cache, images of containers."""
