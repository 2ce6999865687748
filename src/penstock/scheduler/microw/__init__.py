"""microW: the mips of each PE on each node."""
