"""Admission problems from JSON, with every mistake reported."""
