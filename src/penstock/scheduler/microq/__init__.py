"""microQ: better goals for the PEs, once their candidate nodes are known."""
