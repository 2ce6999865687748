"""Says in plain words why a file cannot be parsed: what was found and what could have stood there."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Iterator

from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from penstock.base.diagnostics import Diagnostics, SourceFile, Span, did_you_mean
from penstock.base.redaction import redact

_EXPRESSION = frozenset(
    "NUMBER STRING TRUE FALSE NULL ID QNAME DOLLAR LPAR LBRACE LSQB MINUS PLUS BANG TILDE INCREMENT".split()
)
_OPERATOR = frozenset(
    "BINARY STAR MINUS PLUS GE LESSTHAN MORETHAN IN QMARK DOT LSQB LPAR INCREMENT BANG PRESENT ASSIGN EQUAL".split()
)
_TYPE = frozenset("PRIMITIVE XML_TYPE LIST SET MAP OPTIONAL TUPLE ENUM ID QNAME DOLLAR".split())
_STATEMENT = _TYPE | frozenset(
    "IF WHILE FOR SWITCH BREAK CONTINUE RETURN MUTABLE PUBLIC TYPE SEMICOLON LBRACE INCREMENT".split()
)
_DEFINITION = _TYPE | frozenset("COMPOSITE PUBLIC STATEFUL TYPE ANNOTATION ANNOTATION_CALL".split())
_INVOCATION = frozenset("STREAM LPAR ANNOTATION ANNOTATION_CALL".split())

_GROUPS: tuple[tuple[str, frozenset[str], str], ...] = (
    ("COMPOSITE", _DEFINITION, "a composite, a function or a type"),
    ("WHILE", _STATEMENT, "a statement"),
    ("NUMBER", _EXPRESSION | _TYPE, "an expression"),
    ("PRIMITIVE", _TYPE, "a type"),
    ("BINARY", _OPERATOR, "an operator"),
    ("ANNOTATION", _INVOCATION, "an operator invocation"),
)
"""A terminal that betrays a group, the terminals of the group, and what to call them all."""

_NAMES = {"ID": "a name", "$END": "the end of the file", "DOLLAR": "a parameter's `$name`", "QNAME": "a name"}
_HIDDEN = frozenset({"USE", "NAMESPACE", "STATIC"})
_MOST_NAMED = 5
KEYWORDS = (
    *("composite", "graph", "param", "type", "stream", "output", "input", "config", "logic", "window", "namespace"),
    *("state", "onTuple", "onPunct", "onProcess", "mutable", "stateful", "public", "static"),
    *("if", "else", "while", "for", "switch", "case", "default", "return", "break", "continue"),
)
_WORDS_BEFORE = re.compile(r"(?P<words>(?:\b[A-Za-z]\w*\s*){1,2})(?:\([^()]*\))?$")
_STRING_OR_COMMENT = re.compile(
    r"""//[^\n]*|/\*[\s\S]*?\*/|(?P<string>"(?:[^"\\]|\\[\s\S])*"|'(?:[^'\\]|\\[\s\S])*')"""
)


def describe(error: UnexpectedInput, source: SourceFile, found: Diagnostics) -> None:
    """Report a syntax error."""
    if isinstance(error, UnexpectedToken):
        _describe_token(error, source, found)
        return
    assert isinstance(error, UnexpectedCharacters)
    offset = error.pos_in_stream or 0
    span = Span(source=source, start=offset, end=offset + 1)
    character = source.text[offset : offset + 1]
    if character in "\"'":
        found.error("this string has no closing quote", span)
    else:
        found.error(f"unexpected character `{character}`", span)


def _describe_token(error: UnexpectedToken, source: SourceFile, found: Diagnostics) -> None:
    token = error.token
    accepted = _accepted(error)
    at_end = token.type == "$END"
    start = len(source.text.rstrip()) if at_end else token.start_pos or 0
    span = Span(source=source, start=start, end=start + max(1, len(token)))
    if source.text.startswith("/*", start):
        found.error("this comment has no closing `*/`", Span(source=source, start=start, end=start + 2))
        return
    what = "the end of the file" if at_end else f"`{_shown(str(token))}`"
    if "SEMICOLON" in accepted and "WHILE" not in accepted and _starts_line(source, start):
        previous = len(_code_before(source.text, start))
        hint = did_you_mean(str(token), KEYWORDS) if token.type == "ID" else None
        hint = hint or _hint(";", frozenset(), source, start)
        found.error(f"expected `;` before {what}", Span(source=source, start=previous, end=previous + 1), hint=hint)
        return
    expected = _join(_named(accepted))
    found.error(f"expected {expected}, found {what}", span, hint=_hint(str(token), accepted, source, start))


def _accepted(error: UnexpectedToken) -> frozenset[str]:
    parser = error.interactive_parser
    accepts: Callable[[], Iterable[str]] = (lambda: error.accepts or ()) if parser is None else parser.accepts
    return frozenset(name.lstrip("_") for name in accepts() if not name.startswith("__"))


def _shown(text: str) -> str:
    first = text.split("\n")[0]
    # A password that is cut off would not be known for one.
    shown = redact(first)
    return shown if len(shown) <= 30 else f"{shown[:27]}..."


def _starts_line(source: SourceFile, offset: int) -> bool:
    line_start = source.text.rfind("\n", 0, offset) + 1
    return not source.text[line_start:offset].strip() or offset >= len(source.text.rstrip())


def _code_before(text: str, offset: int) -> str:
    """The text before an offset, without the blanks and comments at its end."""
    before = text[:offset].rstrip()
    while True:
        line_start = before.rfind("\n") + 1
        comment = before.find("//", line_start)
        if before.endswith("*/") and "/*" in before:
            before = before[: before.rindex("/*")].rstrip()
        elif comment >= 0 and before.count('"', line_start, comment) % 2 == 0:
            before = before[:comment].rstrip()
        else:
            return before


def _named(accepted: frozenset[str]) -> Iterator[str]:
    """The names of the tokens that were expected: punctuation first, then the groups, then single words."""
    rest = {name for name in accepted if name not in _HIDDEN}
    groups = []
    for betrayer, members, name in _GROUPS:
        if betrayer in rest:
            groups.append(name)
            rest -= members
    words = sorted({_spelled(name) for name in rest})
    yield from (word for word in words if not word.strip("`").isalpha())
    yield from groups
    yield from (word for word in words if word.strip("`").isalpha())


def _spelled(terminal: str) -> str:
    return _NAMES.get(terminal) or f"`{_PUNCTUATION.get(terminal, terminal.lower())}`"


_PUNCTUATION = {
    "SEMICOLON": ";",
    "COLON": ":",
    "COMMA": ",",
    "EQUAL": "=",
    "LPAR": "(",
    "RPAR": ")",
    "LBRACE": "{",
    "RBRACE": "}",
    "LSQB": "[",
    "RSQB": "]",
    "LESSTHAN": "<",
    "MORETHAN": ">",
    "DOT": ".",
    "STAR": "*",
    "TYPE_FORMAL": "type",
    "ON_TUPLE": "onTuple",
    "ON_PUNCT": "onPunct",
    "ONPROCESS": "onProcess",
}


def _join(names: Iterable[str]) -> str:
    named = list(names)
    if len(named) > _MOST_NAMED:
        named = [*named[: _MOST_NAMED - 1], "..."]
        return ", ".join(named)
    return " or ".join([", ".join(named[:-1]), named[-1]] if len(named) > 1 else named) or "something else"


def _hint(text: str, accepted: frozenset[str], source: SourceFile, offset: int) -> str | None:
    found = _replacement(text, accepted)
    if found is not None:
        return found
    line = _line_of_long_string(source, offset)
    if line is not None:
        return f"the string that starts on line {line} goes over several lines; a quote may be missing"
    misspelt = _keyword_before(source.text, offset)
    if misspelt is not None:
        return misspelt
    if accepted - {"COMMA", "MORETHAN", "LSQB", "DOT"} == {"ID"} and text.isidentifier():
        return f"`{text}` is a word of the language and cannot be a name"
    return did_you_mean(text, [word for name in accepted if (word := _spelled(name).strip("`")).isalpha()])


def _keyword_before(text: str, offset: int) -> str | None:
    """A hint at a misspelt keyword that was taken for a name: the word before, or before a pair of parentheses.

    Example:
        >>> _keyword_before("compsite Main {", 14)
        'is `compsite` meant to be `composite`?'
    """
    before = _WORDS_BEFORE.search(_code_before(text, offset)[-200:])
    for word in before["words"].split() if before else ():
        near = difflib.get_close_matches(word, KEYWORDS, n=1, cutoff=0.75)
        if near and word not in (*KEYWORDS, "int", "float", "string"):
            return f"is `{word}` meant to be `{near[0]}`?"
    return None


def _replacement(text: str, accepted: frozenset[str]) -> str | None:
    """A hint for a mistake that people bring from other languages; None if it is not one."""
    if text == "=" and "BINARY" in accepted:
        return "to compare, write `==`"
    if text == "=" and "COLON" in accepted:
        return "write `name: value;`"
    if text == ":" and "EQUAL" in accepted:
        return "write `name = value`"
    if text in ("and", "or") and "BINARY" in accepted:
        return f"write `{'&&' if text == 'and' else '||'}`"
    return "a for loop is written `for (type name in values)`" if accepted == {"IN"} else None


def _line_of_long_string(source: SourceFile, offset: int) -> int | None:
    """The line of the last string before an offset that goes over several lines, if there is one."""
    line = None
    for match in _STRING_OR_COMMENT.finditer(source.text, 0, offset):
        if match["string"] and "\n" in match["string"]:
            line = source.line_and_column(match.start())[0]
    return line
