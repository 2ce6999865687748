"""The admission problem: jobs, templates, streams, nodes, and how resource functions compose."""
