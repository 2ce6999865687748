"""Operator models from SPL code: effects, keyed state, numbers of tuples submitted."""
