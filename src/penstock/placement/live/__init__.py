"""Placement of a job that runs: what its channels send each other, where they should be, and which moves pay."""
