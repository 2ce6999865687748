"""Operators with an instance for each key: the class, what runs it, its timers, and what its instances must not share."""
