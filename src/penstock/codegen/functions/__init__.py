"""Functions of the user's as columns, or as one tight loop each: their analysis, their text, and what that calls."""
