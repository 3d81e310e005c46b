"""The programs of the Python client of 5.x. They import nothing of rocketwire's."""
