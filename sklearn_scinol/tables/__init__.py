"""Tables as they come, with columns of all kinds, made into rows of numbers."""
