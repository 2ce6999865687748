"""Expressions and logic at work: typing, the standard functions, and the two evaluators of the one tree."""
