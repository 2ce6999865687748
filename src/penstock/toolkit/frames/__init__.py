"""Operators in whose place a DataFrame of Spark stands: the inputs and outputs of a transformation."""
