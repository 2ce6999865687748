"""macroW: on which nodes the admitted PEs may run."""
