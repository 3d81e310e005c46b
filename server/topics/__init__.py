"""The broker's topics and subscription groups: what there is, what is made on first use, what they allow."""
