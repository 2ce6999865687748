"""Logs of several servers, `seconds n` on a line, and a program that reads them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock import App, Output, TimedLines, agg, col, time, tumbling
from penstock.toolkit.core.program import Program


class Logs(TimedLines):
    """Lines `seconds n`; `#` starts a comment."""

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)

    def files(self) -> list[Path]:
        return sorted(self.folder.glob("*.log"))

    def line(self, text: str, file: Path) -> tuple[float, Any] | None:
        if text.startswith("#"):
            return None
        seconds, n = text.split(" ", 1)
        return float(seconds), (file.name, int(n))

    def lines(self, texts: pa.StringArray, file: Path) -> tuple[Any, Mapping[str, Any]] | None:
        parts = pc.split_pattern(texts, " ", max_splits=1).flatten()
        if len(parts) != 2 * len(texts) or not pc.all(pc.ascii_is_decimal(parts[1::2])).as_py():
            return None
        n = parts[1::2].cast(pa.int64())
        return parts[0::2].cast(pa.float64()), {"file": pa.repeat(file.name, len(texts)), "n": n}


class OneByOne(Logs):
    """The same, but nothing is said of many lines at once."""

    def lines(self, texts: pa.StringArray, file: Path) -> None:
        return None


def program(
    folder: Path, kind: type[TimedLines] = Logs, *, beside: bool = False, windowed: bool = False, on_error: str = "skip"
) -> Program:
    app = App("Logs")
    output = Output(schema="rstring file, int32 n", name="A")
    (found,) = app.invoke(kind, outputs=[output], params={"folder": str(folder)}, role="source", on_error=on_error)
    if windowed:
        found = found.aggregate(tumbling(time(60.0)), file=agg.last(col.file), n=agg.last(col.n), name="W")
    found.for_each(print, name="Sink")
    if beside:
        app.beacon("int32 x", iterations=30, period=1.0, x=1, name="B").for_each(print, name="SinkB")
    return app.program()


def write(folder: Path, texts: Mapping[str, str]) -> None:
    for name, text in texts.items():
        (folder / f"{name}.log").write_bytes(text.encode(errors="surrogateescape"))
