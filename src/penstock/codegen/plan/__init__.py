"""The physical plan: PEs, their edges and channels, and the form that each operator gets."""
