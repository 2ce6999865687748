"""The graph that algorithms work on: super operators, merged and split, with what they need of hosts."""
