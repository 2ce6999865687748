"""Elements of XML documents, the paths that select among them, and a parser that hands over each that is asked for.

    path  = ["/"] step {"/" step} ["/" "text()" | "/" "@" name]
    step  = name | "*" | "." | ".."

A path that begins with `/` leads from the root down to an element, or to one around it, and goes on from there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from xml.parsers import expat

_STEP = re.compile(r"\*|\.\.?|[A-Za-z_][\w.:-]*")


@dataclass(slots=True)
class Element:
    """An element of a document.

    Attributes:
        name: As paths write it.
        attributes: By name.
        parent: The element around it; none for the root.
        children: Those that are complete and kept.
        texts: The pieces of text directly in it.
    """

    name: str
    attributes: dict[str, str]
    parent: Element | None = None
    children: list[Element] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The text directly in it."""
        return "".join(self.texts)

    def line(self) -> list[Element]:
        """The elements from the root to this one."""
        return [*(self.parent.line() if self.parent is not None else []), self]

    def parent_or_self(self) -> Element:
        """The element around it; the root is its own."""
        return self.parent or self


@dataclass(frozen=True, slots=True, kw_only=True)
class Path:
    """A path: the elements that it leads to, and what of them is meant.

    Attributes:
        steps: From element to element.
        is_absolute: Whether it begins at the root.
        attribute: The attribute that is meant, `*` for all; none for the text.
    """

    steps: tuple[str, ...]
    is_absolute: bool = False
    attribute: str | None = None

    def elements(self, start: Element) -> list[Element]:
        """The elements that the path leads to, in order of the document."""
        found, steps = [start], list(self.steps)
        if self.is_absolute:
            line = start.line()
            shared = min(len(line), len(steps))
            if not all(_fits(step, e) for step, e in zip(steps, line, strict=False)):
                return []
            found, steps = [line[shared - 1]], steps[shared:]
        for step in steps:
            found = [e for element in found for e in _step(step, element)]
        return found

    def texts(self, start: Element) -> list[str]:
        """The text, or the attribute, of each element that the path leads to and that has it."""
        name = self.attribute
        if name is None:
            return [element.text for element in self.elements(start)]
        return [element.attributes[name] for element in self.elements(start) if name in element.attributes]


def _fits(step: str, element: Element) -> bool:
    return step in ("*", element.name)


def _step(step: str, element: Element) -> Sequence[Element]:
    if step == ".":
        return (element,)
    if step == "..":
        return (element.parent_or_self(),)
    return [child for child in element.children if _fits(step, child)]


def parse_path(text: str) -> Path:
    """The path that a text is.

    Raises:
        ValueError: It is none, or has something that is not supported, such as a predicate.

    Example:
        >>> parse_path("/catalog/book/@id")
        Path(steps=('catalog', 'book'), is_absolute=True, attribute='id')
    """
    *steps, last = text.removeprefix("/").split("/")
    attribute = last[1:] if last.startswith("@") else None
    if attribute is None and last != "text()":
        steps.append(last)
    for step in (*steps, *(() if attribute is None else (attribute,))):
        if _STEP.fullmatch(step) is None:
            raise ValueError(f"`{text}` is not a path of names, `*`, `.`, `..`, `text()` and `@name`: found `{step}`")
    return Path(steps=tuple(steps), is_absolute=text.startswith("/"), attribute=attribute)


_BEGINNINGS = (b"<", b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
"""The bytes that a document may begin with: an element, or the mark of an encoding."""


class XMLReader:
    """Reads documents piece by piece, and hands over the elements that triggers ask for when they are complete.

    Attributes:
        is_open: Whether a document has begun and not ended.
    """

    def __init__(self, triggers: Sequence[Path], name_of: Callable[[str], str]) -> None:
        self._triggers = triggers
        self._name_of = name_of
        self._found: list[tuple[int, Element]] = []
        self._reset()

    def _reset(self) -> None:
        self._current: Element | None = None
        self._kept = 0
        self._has_ended = False
        self.is_open = False
        self._parser = expat.ParserCreate()
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._begin
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._add_text

    def read(self, piece: str | bytes) -> Iterator[tuple[int, Element]]:
        """Each element that a trigger asks for and that is complete now, with the number of the trigger.

        Raises:
            ValueError: It is no XML, from some place on; what comes next begins a document.
        """
        problem = self._feed(piece)
        found, self._found = self._found, []
        if problem or self._has_ended:
            self._reset()
        yield from found
        if problem:
            raise ValueError(f"it is no XML: {problem}")

    def _feed(self, piece: str | bytes) -> str:
        """Let the parser read; gives what is wrong, if something is."""
        if not self.is_open:
            piece = piece.lstrip()
            self.is_open = bool(piece)
            whole = piece.encode() if isinstance(piece, str) else piece
            if whole and not whole.startswith(_BEGINNINGS):
                # The parser would complain only when more has come.
                return f"it begins with {piece[:10]!r}"
        try:
            self._parser.Parse(piece, False)
        except expat.ExpatError as error:
            return str(error)
        return ""

    def reset(self) -> None:
        """Begin a document anew."""
        self._found.clear()
        self._reset()

    def _begin(self, name: str, attributes: dict[str, str]) -> None:
        own = {self._name_of(n): value for n, value in attributes.items()}
        self._current = Element(self._name_of(name), own, self._current)
        self._kept += bool(self._matches(self._current))

    def _matches(self, element: Element) -> list[int]:
        line = element.line()
        return [
            i
            for i, path in enumerate(self._triggers)
            if len(path.steps) == len(line) and all(map(_fits, path.steps, line))
        ]

    def _add_text(self, text: str) -> None:
        if self._current is not None:
            self._current.texts.append(text)

    def _end(self, name: str) -> None:
        element = self._current
        assert element is not None
        matches = self._matches(element)
        self._found.extend((i, element) for i in matches)
        self._kept -= bool(matches)
        self._current = element.parent
        self._has_ended = element.parent is None
        if self._kept and element.parent is not None:
            element.parent.children.append(element)
