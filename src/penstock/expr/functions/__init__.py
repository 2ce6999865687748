"""The standard functions of SPL: one module a family, one registry that finds them by name and types."""
