"""Writes the module of a PE: one family of operators a module, expressions as text, imports, layout."""
