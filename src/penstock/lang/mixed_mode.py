"""Mixed mode: SPL with Perl in it, as files that end in `.splmm` hold it.

Introduction:
    What stands between `<%` and `%>` is Perl that runs while the program is compiled; all else is SPL that the Perl
    around it prints, perhaps many times or not at all. `<%= expression %>` prints a value. The compile-time arguments
    are `@ARGV`.

Example:
    `(<% for my $i (1..2) { %> stream<T> Part<%= $i %> <% print ";" if $i < 2; %> <% } %>) = Split(In) { ... }` is a
    Split with two outputs, `Part1` and `Part2`.

Algorithm:
    The file becomes a Perl script that prints its text line by line (`make_script`). Every line of the script says
    which line of the file it comes from, so Perl's own messages name the file; a handle that stands for the output
    notes with every print where it came from, so messages about the SPL that comes out name the file, too.

Reference:
    The mixed-mode processor of SPL, which takes `<%` and `%>` wherever they stand, and knows `@print` for `print`.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from penstock.base import sandbox
from penstock.base.diagnostics import Diagnostic, SourceFile, Span, UserError
from penstock.lang.check.mistakes import error

SUFFIX = ".splmm"
MOST_SECONDS = 60.0

_SUMMARY = re.compile(r"Execution of \S+ aborted|\S+ had compilation errors")
_MARKS = re.compile(r"<%|%>")

_PRELUDE = r"""use strict;
package Penstock::Output;
sub TIEHANDLE { my ($class, @files) = @_; return bless [@files], $class }
sub note {
    my ($self, $line, $text) = @_;
    local ($,, $\);
    print { $self->[0] } $text;
    print { $self->[1] } length($text), " $line\n";
    return 1;
}
sub PRINT {
    my $self = shift;
    return $self->note((caller)[2], join($, // "", @_) . ($\ // ""));
}
sub PRINTF { my ($self, $format, @values) = @_; return $self->note((caller)[2], sprintf($format, @values)) }
sub FILENO { return 1 }
sub BINMODE { return 1 }
package main;
{
    open(my $out, ">&", \*STDOUT) or die "cannot write: $!";
    open(my $map, ">", shift @ARGV) or die "cannot write: $!";
    tie *STDOUT, "Penstock::Output", $out, $map;
}
"""


@dataclass(frozen=True, slots=True)
class _Piece:
    """A stretch of a file between two marks."""

    is_code: bool
    text: str
    line: int


def expand_mixed_mode(source: SourceFile, arguments: Sequence[str], folder: Path) -> SourceFile:
    """The SPL that a file makes, with the lines that messages name.

    Args:
        source: The file as it is written.
        arguments: What its Perl finds in `@ARGV`.
        folder: Where its Perl runs.

    Raises:
        UserError: There is no Perl here, or programs run in the sandbox, or the file's Perl fails; the message names
            the line.
    """
    if sandbox.is_on():
        hint = "run it without --sandbox if you trust it, or write the SPL that it makes into a file that ends in .spl"
        raise UserError(f"`{source.path}` holds Perl, which a sandbox does not run", hint=hint)
    script = make_script(source)
    perl = shutil.which("perl")
    if perl is None:
        hint = "install Perl, or write the SPL that it makes into a file that ends in .spl"
        raise UserError(f"`{source.path}` holds Perl, which runs at compile time, and `perl` is not here", hint=hint)
    with tempfile.TemporaryDirectory() as place:
        written, lines = Path(place) / "script.pl", Path(place) / "lines"
        written.write_text(script, encoding="utf-8")
        text = _run([perl, str(written), str(lines), *arguments], source, folder)
        return SourceFile(path=source.path, text=text, written_lines=_lines_of(text, lines.read_text()))


def make_script(source: SourceFile) -> str:
    """The Perl script that prints the SPL of a file.

    Raises:
        UserError: A mark has no counterpart.

    Example:
        >>> make_script(SourceFile(path="a.splmm", text="x<%= 1 %>")).splitlines()[-5:]
        ['# line 1 "mixed"', "print STDOUT 'x';", '# line 1 "mixed"', 'print STDOUT  1 ', ';']
    """
    return _PRELUDE + "".join(text for piece in _pieces(source) for text in _statements(piece))


def _pieces(source: SourceFile) -> Iterator[_Piece]:
    start, is_code = 0, False
    for mark in _MARKS.finditer(source.text):
        if (mark[0] == "<%") is is_code:
            other = "%>" if is_code else "<%"
            raise error(f"expected `{other}` before this", Span(source=source, start=mark.start(), end=mark.end()))
        yield _Piece(is_code, source.text[start : mark.start()], source.line_and_column(start)[0])
        start, is_code = mark.end(), not is_code
    if is_code:
        raise error("this `<%` has no `%>`", Span(source=source, start=start - 2, end=start))
    yield _Piece(False, source.text[start:], source.line_and_column(start)[0])


def _statements(piece: _Piece) -> Iterator[str]:
    if not piece.is_code:
        for number, line in enumerate(piece.text.splitlines(keepends=True), start=piece.line):
            quoted = line.replace("\\", "\\\\").replace("'", "\\'")
            yield f"# line {number} \"mixed\"\nprint STDOUT '{quoted}';\n"
    elif piece.text.startswith("="):
        # What it prints may end in a comment.
        yield f'# line {piece.line} "mixed"\nprint STDOUT {piece.text[1:]}\n;\n'
    else:
        code = re.sub(r"@print\b", "print STDOUT", piece.text)
        yield f'# line {piece.line} "mixed"\n{code}\n'


def _run(command: list[str], source: SourceFile, folder: Path) -> str:
    try:
        done = subprocess.run(
            command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=MOST_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise UserError(f"the Perl in `{source.path}` did not end within {MOST_SECONDS:g} seconds") from None
    said = done.stderr.decode(errors="replace")
    if done.returncode:
        raise UserError(_failures(said, source, done.returncode))
    return done.stdout.decode(errors="replace")


def _failures(said: str, source: SourceFile, status: int) -> Iterator[Diagnostic]:
    """The errors that Perl reports, each with the line that it names."""
    texts = [text for text in said.splitlines() if not _SUMMARY.match(text)]
    for text in texts or [f"it ended with status {status}"]:
        named = re.search(r" at mixed line (\d+)", text)
        if named is None:
            yield Diagnostic(message=f"Perl in `{source.path}`: {text}")
        else:
            message = text[: named.start()] + text[named.end() :]
            yield Diagnostic(message=f"Perl: {message}", span=source.span_of_line(int(named[1])))


def _lines_of(text: str, noted: str) -> tuple[int, ...]:
    """For each line of what was printed, the line of the file that printed its beginning."""
    data, at, found = text.encode(), 0, [0]
    for length, line in (map(int, entry.split()) for entry in noted.splitlines()):
        if length and not found[-1]:
            found[-1] = line
        printed = data[at : at + length].split(b"\n")
        found.extend([line] * (len(printed) - 1))
        if length and not printed[-1]:
            found[-1] = 0
        at += length
    return tuple(line or found[i - 1] for i, line in enumerate(found))
