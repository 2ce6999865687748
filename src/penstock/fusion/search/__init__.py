"""Local and complete search over fusions."""
