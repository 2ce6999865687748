"""SODA: which jobs a full cluster admits, how much each gets, and where it runs.

The model stands in `problem`, `resource_functions`, `composition`, `components` and `ranks`. `macroq` admits and
allocates, `macrow` picks candidate nodes, `microq` and `microw` refine goals and assign; `pipeline` runs them in
sequence. Follows Wolf et al., JSSPP 2009; `docs/design/soda.md` says where we depart.
"""
