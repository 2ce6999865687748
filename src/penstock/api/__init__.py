"""The Python front end: fluent and typed, able to say all that SPL says, building the same graph."""
