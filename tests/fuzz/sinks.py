"""Random sinks: files of all formats, with markers where they can show them, and what prints."""

from __future__ import annotations

from random import Random

from .program import Attributes, Op


def draw_sink(rng: Random, name: str, stream: str, schema: Attributes) -> Op:
    """A sink of a stream."""
    make = rng.choice([_lines, _lines, _lines, _lines, _other_file, _rolling, _partitioned, _printer, _python])
    return make(rng, name, stream, schema)


def _file(name: str, stream: str, *params: tuple[str, str], file: str = "") -> Op:
    return Op(name=name, kind="FileSink", inputs=((stream,),), params=(("file", f'"{file or name}"'), *params))


def _lines(rng: Random, name: str, stream: str, schema: Attributes) -> Op:
    params = [("format", rng.choice(["txt", "txt", "csv"]))]
    if rng.random() < 0.6:
        params.append(("writePunctuations", "true"))
    if rng.random() < 0.15:
        params.append(("hasDelayField", "true"))
    if rng.random() < 0.2:
        params.append(("suppress", rng.choice(schema)[0]))
    return _file(name, stream, *params)


def _other_file(rng: Random, name: str, stream: str, schema: Attributes) -> Op:
    params = [("format", rng.choice(["json", "bin", "parquet", "json"]))]
    if params[0][1] == "json" and rng.random() < 0.3:
        params.append(("compression", rng.choice(["gzip", "zlib", "bzip2"])))
    return _file(name, stream, *params)


def _rolling(rng: Random, name: str, stream: str, schema: Attributes) -> Op:
    mode = rng.choice(
        [
            (("closeMode", "count"), ("tuplesPerFile", "3u")),
            (("closeMode", "punct"),),
            (("closeMode", "time"), ("timePerFile", "1.0")),
            (("closeMode", "size"), ("bytesPerFile", "40u")),
        ]
    )
    return _file(name, stream, ("format", "txt"), *mode, file=f"{name}-{{id}}")


def _partitioned(rng: Random, name: str, stream: str, schema: Attributes) -> Op:
    return _file(name, stream, ("format", rng.choice(["csv", "json"])), ("partitionBy", rng.choice(["s", "n", "s, n"])))


def _printer(rng: Random, name: str, stream: str, schema: Attributes) -> Op:
    logic: list[tuple[str, tuple[str, ...]]] = [
        ("state", ("mutable int32 seen = 0;",)),
        ("onTuple I0", ("seen++;", f'printStringLn("{name} " + (rstring)seen + (rstring)I0);')),
    ]
    if rng.random() < 0.5:
        logic.append(("onPunct I0", (f'printStringLn("{name} " + (rstring)currentPunct());',)))
    return Op(name=name, kind="Custom", inputs=((stream,),), logic=tuple(logic))


def _python(rng: Random, name: str, stream: str, schema: Attributes) -> Op:
    return Op(name=name, kind="PyPrint", inputs=((stream,),), params=(("label", f'"{name}"'),))
