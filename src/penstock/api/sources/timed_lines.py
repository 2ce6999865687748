"""Sources that merge files of lines by their time: logs, mostly.

A subclass of `TimedLines` says which files there are and what a line means; the application's time goes as the lines
say. What `line` says of one line is the meaning. A subclass that also says with `lines` what many lines are at once is
read by columns on Spark, some ten times as fast; where `lines` is not sure, `line` is asked.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping
from operator import itemgetter
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from penstock.api.operators import Marks
from penstock.api.sources.column_lines import LineColumns
from penstock.api.sources.timed_items import at
from penstock.api.sources.timed_line import Line, check_order, read_line
from penstock.ir.types import Schema
from penstock.toolkit.core.column_source import ColumnSource
from penstock.toolkit.formats import Malformed


class TimedLines:
    """A source of files of lines, each in the order of time.

    Lines leave in the order of their times; of lines of one time, those of the first file come first. A file in which
    time goes back is refused. A run until everything is done reads what there is; a continuous run goes on with lines
    that are appended, once they are whole, and with files that come later. Its clock waits for the file that is
    furthest behind, until that has had no new line for `idle_seconds`.

    An instance is made wherever one is needed, from the parameters of the invocation, so it holds no state of the run.

    Attributes:
        namespace: Where SPL programs find it.
        idle_seconds: For how long the clock of a continuous run waits for a file that has no new line.

    Example:
        >>> import tempfile
        >>> import pyarrow.compute as pc
        >>> class Log(TimedLines):
        ...     def __init__(self, folder: str):
        ...         self.folder = Path(folder)
        ...     def files(self):
        ...         return sorted(self.folder.glob("*.log"))
        ...     def line(self, text, file):
        ...         seconds, message = text.split(" ", 1)
        ...         return float(seconds), {"message": message}
        ...     def lines(self, texts, file):
        ...         parts = pc.split_pattern(texts, " ", max_splits=1).flatten()
        ...         if len(parts) == 2 * len(texts):
        ...             return parts[0::2].cast(pa.float64()), {"message": parts[1::2]}
        >>> folder = Path(tempfile.mkdtemp())
        >>> _ = (folder / "a.log").write_text("1 up\\n9 down\\n")
        >>> _ = (folder / "b.log").write_text("5 busy\\n")
        >>> for item in Log(str(folder)): print(item)
        at(seconds=1.0)
        {'message': 'up'}
        at(seconds=5.0)
        {'message': 'busy'}
        at(seconds=9.0)
        {'message': 'down'}
    """

    namespace: ClassVar[str] = ""
    idle_seconds: ClassVar[float] = 5.0
    __penstock__: ClassVar[Marks]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.__penstock__ = Marks(role="source", namespace=cls.namespace)

    def files(self) -> Iterable[Path]:
        """The files, in an order that stays; new ones may come to stand behind the old ones.

        Example:
            >>> class Log(TimedLines):
            ...     def files(self):
            ...         return [Path("a.log"), Path("b.log")]
            >>> [file.name for file in Log().files()]
            ['a.log', 'b.log']
        """
        raise NotImplementedError

    def line(self, text: str, file: Path) -> tuple[float, Any] | None:
        """The time of a line in seconds from the start of the source, and its tuple; None to leave the line out.

        Args:
            text: The line without its end.
            file: Where it stands.

        Raises:
            ValueError: The line is malformed; it follows the operator's error policy.

        Example:
            >>> class Log(TimedLines):
            ...     def line(self, text, file):
            ...         seconds, message = text.split(" ", 1)
            ...         return float(seconds), {"message": message}
            >>> Log().line("9 down", Path("a.log"))
            (9.0, {'message': 'down'})
        """
        raise NotImplementedError

    def lines(self, texts: pa.StringArray, file: Path) -> tuple[Any, Mapping[str, Any]] | None:
        """The times of many lines in seconds, and their tuples as columns: exactly what `line` says of each.

        Args:
            texts: The lines without their ends.
            file: Where they stand.

        Returns:
            An array of times and one for each attribute, with a value for each line; None, or a ValueError, if there
            is anything about the lines that is to be looked at one by one.

        Example:
            >>> class Log(TimedLines):
            ...     def lines(self, texts, file):
            ...         return pa.array(range(len(texts)), pa.float64()), {"message": texts}
            >>> times, columns = Log().lines(pa.array(["up", "down"]), Path("a.log"))
            >>> times.to_pylist()
            [0.0, 1.0]
        """
        return None

    def __iter__(self) -> Iterator[Any]:
        """All lines that there are now, in order."""
        for _, seconds, item in heapq.merge(*map(self._timed, self.files()), key=itemgetter(0)):
            if seconds is not None:
                yield at(seconds)
            yield item

    def by_columns(self, schema: Schema, *, follows: bool) -> ColumnSource:
        """The same by columns; the engines ask for it.

        Example:
            >>> from penstock.ir.types import parse_schema
            >>> TimedLines().by_columns(parse_schema("rstring message"), follows=False).is_live
            False
        """
        return LineColumns(source=self, schema=schema, is_live=follows)

    def _timed(self, file: Path) -> Iterator[tuple[int, float | None, Any]]:
        """The lines of a file: when they stand, the time that they tell, and what they are."""
        time_ns = 0
        with file.open("rb") as lines:
            for raw in lines:
                found = read_line(self, raw, file)
                if isinstance(found, Malformed):
                    yield time_ns, None, found
                elif isinstance(found, Line):
                    check_order(file, time_ns, found.time_ns)
                    time_ns = found.time_ns
                    yield time_ns, found.seconds, found.value
