"""Parses a file of SPL and reports every syntax error that stands on its own.

Introduction:
    An LALR parser stops at the first token that does not fit. To find the next independent mistake, the piece of text
    around the first (an invocation, a clause item of a composite, or a whole definition) is blanked out and the file is
    parsed again. Blanks keep every offset, so later messages point where they should.

When it does not apply:
    A mistake that unbalances the braces makes the rest of the file meaningless; then only the first is reported.

Algorithm:
    At most `MOST_ERRORS` parses, each linear in the length of the text.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedInput, UnexpectedToken

from penstock.base.cache_folder import cache_folder
from penstock.base.diagnostics import Diagnostics, SourceFile, Span, UserError
from penstock.base.private_files import check_private, make_private_folder
from penstock.lang.syntax.ast import File
from penstock.lang.syntax.build_tree import build_file
from penstock.lang.syntax.pieces import enclosing_piece
from penstock.lang.syntax.syntax_errors import describe

MOST_ERRORS = 20


@cache
def _lark() -> Lark:
    """The parser; its tables take longer to make than most programs to compile, so they are kept."""
    grammar = Path(__file__).with_name("grammar.lark").read_text(encoding="utf-8")
    kept = cache_folder() / "grammar.tables"
    try:
        make_private_folder(kept.parent)
        # What lies there is unpickled.
        check_private(kept, "the cache of the parser")
    except (OSError, UserError):
        return Lark(grammar, parser="lalr", propagate_positions=True)
    # What was kept by another version, of another grammar or only in part is made anew.
    return Lark(grammar, parser="lalr", propagate_positions=True, cache=str(kept))


def parse_file(source: SourceFile, found: Diagnostics) -> File | None:
    """The syntax tree, or None after reporting why there is none.

    Example:
        >>> found = Diagnostics()
        >>> parse_file(SourceFile(path="a.spl", text="composite Main { graph }"), found).definitions[0].name.text
        'Main'
        >>> parse_file(SourceFile(path="a.spl", text="composite { graph }"), found)
        >>> [d.message for d in found]
        ['expected a name, found `{`']
    """
    try:
        tree = _parse(source, found)
        return None if tree is None else build_file(tree, source)
    except RecursionError:
        found.error("the program is nested too deeply", Span(source=source, start=0, end=1))
        return None


def _parse(source: SourceFile, found: Diagnostics) -> Tree[Token] | None:
    text, resume, last = source.text, 0, ""
    for attempt in range(MOST_ERRORS):
        try:
            tree = _lark().parse(text)
            return tree if attempt == 0 else None
        except UnexpectedInput as error:
            offset = error.pos_in_stream or 0
            at_end = isinstance(error, UnexpectedToken) and error.token.type == "$END"
            if attempt and (at_end or offset < resume):
                return None
            mine = Diagnostics()
            describe(error, source, mine)
            follows, last = _follows(last, mine)
            if not follows:
                found.extend(UserError(tuple(mine)))
            if at_end:
                return None
            start, resume = enclosing_piece(text, offset)
            text = text[:start] + "".join(c if c == "\n" else " " for c in text[start:resume]) + text[resume:]
    return None


def _follows(last: str, mine: Diagnostics) -> tuple[bool, str]:
    """Whether a message only repeats the one before: still lost between clauses, for want of the same."""
    (diagnostic,) = mine
    expected = diagnostic.message.partition(", found")[0]
    is_lost = expected.startswith(("expected `}`", "expected the end of the file"))
    return is_lost and diagnostic.hint is None and expected == last, expected
