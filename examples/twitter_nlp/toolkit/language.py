"""`NLP`: takes a tweet apart into words. Its model is inferred: no state, exactly one tuple for one."""

from __future__ import annotations

import re

from penstock import map_

WORD = re.compile(r"[#@]?\w+(?:['’]\w+)*")


@map_
def NLP(tweet):
    """The words of a tweet in lower case, their lengths, and the average of those."""
    words = [word.lower() for word in WORD.findall(tweet.text)]
    lengths = [len(word) for word in words]
    return {"words": words, "lengths": lengths, "average": sum(lengths) / len(lengths) if lengths else 0.0}
