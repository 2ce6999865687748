"""The gate behind sources with partitions: it lets tuples pass in the order of one clock."""
