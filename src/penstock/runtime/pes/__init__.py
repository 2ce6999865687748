"""PEs at work: a container of operators, an instance of a generated module, and their reports."""
