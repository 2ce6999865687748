"""Windows: partitions, policies, eviction, triggers."""
