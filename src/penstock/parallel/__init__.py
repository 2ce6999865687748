"""Safe parallel regions: which operators may be replicated, how tuples are routed to the replicas, and how the order of
the sequential program is kept. The compiler half of the auto-parallelization paper."""
