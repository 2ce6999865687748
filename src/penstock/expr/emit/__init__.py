"""Expressions and statements as Python text, and what that text calls."""
