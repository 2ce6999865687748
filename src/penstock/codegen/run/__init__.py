"""A generated module at work: what arrives, what leaves, ends of streams, the tuple that failed."""
