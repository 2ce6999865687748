"""An archive of the classes that Spark loads, made once in a long run of the tests, for all the Javas that it starts.

Reading and checking some 20,000 classes is a third of what a short job costs. Java maps them from an archive instead
(class data sharing); making it takes as long as a few jobs, so it is made beside the first tests. Java reads a file of
options when it starts, which says nothing until the archive is complete. An archive that does not fit (another home of
Spark, another Java) is left alone by Java, and where none can be made all runs as without it.

`python tests/java_archive.py FOLDER` makes it.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
import tempfile
from pathlib import Path

COMMANDS_WORTH_IT = 20
"""Tests that start Spark themselves."""

PROGRAM = """composite Main { graph
    stream<int32 k, int32 x> A = FileSource() { param file: "in.csv"; }
    stream<int32 k, int32 total> B = Aggregate(A) { window A: sliding, count(5), count(1), partitioned;
      param partitionBy: k; output B: k = Any(k), total = Sum(x); }
    () as Sink = FileSink(B) { param file: "out.csv"; }
}"""


def offer(folder: Path) -> str:
    """The options for Java that take the archive in a folder once it is there."""
    options = _options(folder)
    options.touch()
    return f"@{options}"


def begin(folder: Path) -> None:
    """Start to make the archive, unless no Java will look for it or another process makes it already."""
    if f"@{_options(folder)}" not in os.environ["SPARK_SUBMIT_OPTS"]:
        return
    try:
        (folder / "java.begun").touch(exist_ok=False)
    except FileExistsError:
        return
    command = [sys.executable, __file__, str(folder)]
    # Java tells of every class that it leaves out.
    making = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    atexit.register(making.terminate)


def make(folder: Path) -> None:
    """Run a job on a Spark of its own, and let its Java archive what it has loaded."""
    archive, part = folder / "java.jsa", folder / "java.part"
    os.environ["SPARK_SUBMIT_OPTS"] = f"-XX:TieredStopAtLevel=1 -XX:ArchiveClassesAtExit={part}"
    _run_job()
    part.rename(archive)
    # Warnings go to standard output, which is the command's.
    words = f"-XX:SharedArchiveFile={archive} -Xlog:cds=off -Xlog:cds+dynamic=off"
    written = folder / "java.options.part"
    written.write_text(words)
    written.rename(_options(folder))


def _options(folder: Path) -> Path:
    return folder / "java.options"


def _run_job() -> None:
    from penstock.lang import compile_text
    from spark_session import everything_fused, run_spark, session

    with tempfile.TemporaryDirectory() as data:
        (Path(data) / "in.csv").write_text("".join(f"{n % 5},{n}\n" for n in range(100)))
        program = compile_text(PROGRAM)
        run_spark(program, Path(data), everything_fused(program.application))
    java = session().sparkContext._gateway.proc
    session().stop()
    java.stdin.close()
    java.wait()


if __name__ == "__main__":
    make(Path(sys.argv[1]))
