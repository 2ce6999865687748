"""Output functions of Aggregate and Match."""
