"""Streams between jobs, as folders that other jobs read."""
