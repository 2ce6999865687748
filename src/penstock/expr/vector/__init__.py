"""Expressions over whole columns."""
