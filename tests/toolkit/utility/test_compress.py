"""Compress and Decompress: what others make of the bytes, large data, bad data, and going on from a snapshot."""

import bz2
import gzip
import zlib
from pathlib import Path

import pytest

from penstock.base.diagnostics import UserError
from penstock.expr.environment import Environment
from penstock.lang import compile_text
from penstock.reference import run
from penstock.toolkit.utility.compress import CompressRuntime
from penstock.toolkit.utility.decompress import DecompressRuntime

READ = {"gzip": gzip.decompress, "zlib": zlib.decompress, "bzip2": bz2.decompress}
WRITTEN = {"gzip": gzip.compress, "zlib": zlib.compress, "bzip2": bz2.compress}
DATA = b"".join(b"%d, " % (i * i) for i in range(40_000))


def run_on(folder: Path, data: bytes, operators: str) -> bytes:
    (folder / "in.bin").write_bytes(data)
    text = f"""composite Main {{ graph
      stream<blob b> In = FileSource() {{ param file: "in.bin"; format: block; blockSize: 5000u; }}
      {operators}
      () as Out = FileSink(Result) {{ param file: "out.bin"; format: block; }} }}"""
    run(compile_text(text), environment=Environment(data_directory=folder, output_directory=folder))
    return (folder / "out.bin").read_bytes()


@pytest.mark.parametrize("compression", READ)
@pytest.mark.parametrize("data", [DATA, b"x", b""], ids=len)
def test_what_is_compressed_is_read_by_others_and_the_other_way_round(tmp_path, compression, data):
    param = f"param compression: {compression};"
    compressed = run_on(tmp_path, data, f"stream<blob b> Result = Compress(In) {{ {param} }}")
    assert READ[compression](compressed) == data
    plain = run_on(tmp_path, WRITTEN[compression](data), f"stream<blob b> Result = Decompress(In) {{ {param} }}")
    assert plain == data


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"no such thing", "the bytes are not compressed by gzip"),
        (gzip.compress(DATA)[:-9], "the compressed bytes end too early"),
    ],
    ids=["not compressed", "cut"],  # what gzip writes holds the time
)
def test_bad_data_are_a_failure(tmp_path, data, message):
    with pytest.raises(UserError, match=message):
        run_on(tmp_path, data, "stream<blob b> Result = Decompress(In) { param compression: gzip; }")


class Context:
    """As much of a context as these operators need."""

    def __init__(self) -> None:
        from penstock.expr.evaluate import Evaluator

        self.environment = Environment()
        self.evaluator = Evaluator(functions=(), environment=self.environment)


@pytest.mark.parametrize("compression", READ)
@pytest.mark.parametrize("made", ["Compress", "Decompress"])
def test_a_fresh_instance_goes_on_where_another_stopped(compression, made):
    data = DATA if made == "Compress" else WRITTEN[compression](DATA)
    pieces = [data[i : i + 3000] for i in range(0, len(data), 3000)]
    runtime = CompressRuntime if made == "Compress" else DecompressRuntime
    text = f"""composite Main {{ graph stream<blob b> In = Beacon() {{}}
      stream<blob b> Result = {made}(In) {{ param compression: {compression}; }} }}"""
    operator = compile_text(text).application.operator["Result"]
    out: list[bytes] = []
    state = None
    for piece in pieces:
        current = runtime(operator, Context())
        current.submit, current.punctuate = [lambda t: out.append(t[0])], [lambda p: None]
        if state is not None:
            current.restore(state)
        current.process(0, (piece,))
        state = current.snapshot()
    current.take_final_marker(0)
    assert (READ[compression](b"".join(out)) if made == "Compress" else b"".join(out)) == DATA


@pytest.mark.parametrize(
    ("operator", "message"),
    [
        ("Compress(In) { param compression: lzma; }", "lzma"),
        ("Compress(S) { param compression: gzip; }", "a Compress without `compressionInput` has one input attribute"),
        ("Decompress(In) { param compression: gzip; flushOnPunct: true; flushPerTuple: true; }", "not both"),
        ('CharacterTransform(In) { output Result: b = Convert("UTF-9", "UTF-8", b); }', "there is no encoding `UTF-9`"),
    ],
)
def test_what_makes_no_sense_is_refused(operator, message):
    text = f"""composite Main {{ graph stream<blob b> In = Beacon() {{}} stream<int32 i, blob b> S = Beacon() {{}}
      stream<blob b> Result = {operator} }}"""
    with pytest.raises(UserError, match=message):
        compile_text(text)
