"""Event time: streams in the order of an attribute, and windows and joins over them."""
