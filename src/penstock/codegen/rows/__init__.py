"""Rows as frames of columns, and their places in the sequential order."""
