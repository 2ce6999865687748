"""The graph and everything in it: types, expressions, statements, windows, models, constraints. Data only."""
