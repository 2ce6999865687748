"""Hostile input: whatever is read gives a message that says where, or a counted dead letter, and nothing else.

`python -m tests.hostile --seeds A:B` mutates programs, problem files, plans, profiles, savepoints and records, each
from its seed alone, and reads them as the commands do. A traceback, an end of the process, more time or memory than is
allowed, or a message without a place is printed with its input. What was found and mended is in `found`, and is read
again by the tests.
"""
