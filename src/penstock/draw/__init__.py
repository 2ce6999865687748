"""Pictures of graphs: a layered layout, and self-contained pages that show it."""
