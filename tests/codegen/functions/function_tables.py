"""Tables that functions under test look things up in."""

import re

RATES = {"EUR": 1.5, "a": -0.0, "": 2.0}
SIZES = {1: 10, 2: 20, -1: 2**62, 0: 0}
NAMES = {"a": "first", "12": ""}
WATCHED = frozenset({"EUR", "a", "é"})
STEPS = (1, 2, 3)
PATTERN = re.compile(r"(\w)-?(\d+)?")
