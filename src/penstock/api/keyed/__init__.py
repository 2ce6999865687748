"""Operators with an instance for each key: the class, its runtime, its timers, and what instances must not share."""
