"""`ParseTweet`: a tuple of an XML tweet. Its model is inferred: no state, exactly one tuple for one."""

from __future__ import annotations

import html
import re

from penstock import map_

TWEET = re.compile(r'<tweet author="([^"]*)" time="(\d+)">(.*)</tweet>')
TAG = re.compile(r"#\w+")


@map_
def ParseTweet(line):
    """Author, contents, time, and the hash-tags in the contents."""
    author, time, contents = TWEET.fullmatch(line.text.strip()).groups()
    contents = html.unescape(contents)
    return {"author": html.unescape(author), "contents": contents, "time": int(time), "tags": TAG.findall(contents)}
