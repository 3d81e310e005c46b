# The C kernel's functions and types; the files in kernel/ say what they do.
