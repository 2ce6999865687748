"""How tuples travel between PEs: encoding, headers, routes."""
