"""From results to the pages of `docs/results`."""
