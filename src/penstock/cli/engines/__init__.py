"""The parts of `penstock run`, one for each engine."""
