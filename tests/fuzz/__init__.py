"""Random programs, run by the reference interpreter and compiled, and compared: `python -m tests.fuzz --seeds 0:1000`.

A seed gives a program (`generate`) and a way to run it (`setting`): which operators share a PE, how many channels there
are, how large batches are, and after which of them everything is lost. Both runs (`execute`) must give every sink the
same (`compare`); where they do not, the program is made as small as it can be (`shrink`) and printed.
"""
