"""The utility operators: sources for tests, splits, barriers, gates, delays, custom code."""
