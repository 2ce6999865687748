"""Event time in Python: streams in the order of an attribute, windows and joins over it."""
