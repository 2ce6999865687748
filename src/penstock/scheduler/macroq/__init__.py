"""macroQ: which jobs to admit, with which templates, and how much each PE gets."""
