"""The smoke suite on another version of Spark: `make test-spark VERSION=4.1`.

The version gets an environment of its own in the user's cache folder, made from the lock with that Spark in it, and
the jars of the table formats that there are for it. What runs is what stands on interfaces of Spark, public and
private, a few jobs from end to end, and the table formats, which the version of the lock does not have.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests"))  # it is run as a program

from servers import jars  # noqa: E402

FORMATS = {"4.1": (jars.DELTA,), "4.2": (jars.DELTA,), "4.3": ()}
"""The versions of Spark that Penstock runs on, and the table formats that are published for each."""

HADOOP = {
    "4.1": {"hadoop": "3.4.2", "sdk": "2.29.52", "accelerator": "1.2.1"},
    "4.2": {"hadoop": "3.5.0", "sdk": "2.35.4", "accelerator": "1.3.1"},
    "4.3": {"hadoop": "3.5.0", "sdk": "2.35.4", "accelerator": "1.3.1"},
}
"""What they come with, and the kit of Amazon's that it was made with."""

MORE = ("moto[server,s3]==5.2.5",)
"""What only this suite needs."""

BETWEEN_DATAFRAMES = (
    "tests/spark/frames",
    "tests/spark/sources/test_admission.py",
    "tests/e2e/test_tables.py",
    "tests/e2e/test_object_stores.py",
)
"""The suite of a version that only runs applications between DataFrames (`spark/sources/admission.py`)."""

SMOKE = (
    "tests/spark/frames",
    "tests/spark/sinks",
    "tests/spark/placement",
    "tests/spark/workers",
    "tests/spark/checkpoint",
    "tests/spark/gate",
    "tests/spark/measure",
    "tests/spark/savepoints",
    "tests/spark/streams",
    "tests/spark/sources",
    "tests/spark/kafka",
    "tests/examples/test_pyspark_program.py",
    "tests/examples/test_sessions.py",
    "tests/examples/test_bargains.py",
    "tests/e2e/test_run_on_spark.py",
    "tests/e2e/test_savepoints.py",
    "tests/e2e/test_tables.py",
    "tests/e2e/test_object_stores.py",
    "tests/examples/test_examples_on_cluster.py",
    "tests/spark/job/test_user_settings.py",
)
SUITES = {"4.1": BETWEEN_DATAFRAMES, "4.2": SMOKE, "4.3": SMOKE}
_OF_DEVELOPERS = ("ruff", "mypy", "mkdocs", "mkdocs-material", "mkdocstrings", "mkdocstrings-python", "scipy-stubs")


def main() -> int:
    """Make the environment, fetch the jars, and run the suite."""
    parser = argparse.ArgumentParser(description="run the smoke suite on another version of Spark")
    parser.add_argument("version", choices=FORMATS)
    parser.add_argument("pytest", nargs="*", help="what to run in the place of the smoke suite, and options of pytest")
    given, options = parser.parse_known_args()
    python = environment(given.version)
    folders = [str(jars.folder(name, **properties)) for name, properties in _fetched(given.version)]
    variables = {**os.environ, "PENSTOCK_JARS": os.pathsep.join(folders), "PYSPARK_PYTHON": str(python)}
    variables["PENSTOCK_LONG"] = "1"  # tests of minutes are run, too
    variables.pop("SPARK_HOME", None)
    wanted = given.pytest or SUITES[given.version]
    command = [str(python), "-m", "pytest", "-p", "no:cacheprovider", *wanted, *options]
    return subprocess.run(command, cwd=ROOT, env=variables, check=False).returncode


def environment(version: str) -> Path:
    """The interpreter of an environment with a version of Spark; made if it is not there."""
    wanted = _requirements(version)
    digest = hashlib.sha256(f"{sys.version}{ROOT}{wanted}".encode()).hexdigest()[:12]
    folder = jars.cache() / f"spark-{version}-{digest}"
    python = folder / "bin" / "python"
    if (folder / ".ready").exists():
        return python
    print(f"making an environment with Spark {version} in {folder}", file=sys.stderr)
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    (folder / "requirements.txt").write_text(wanted)
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*install, "--requirement", str(folder / "requirements.txt")], check=True)
    subprocess.run([*install, "--no-deps", "--no-build-isolation", "--editable", str(ROOT)], check=True)
    (folder / ".ready").touch()
    return python


def _requirements(version: str) -> str:
    """What the lock has, but for Spark, and without what checks and draws."""
    kept = []
    for line in (ROOT / "requirements.lock").read_text().splitlines():
        name = line.partition("==")[0].strip().lower()
        if name != "pyspark" and name not in _OF_DEVELOPERS:
            kept.append(line)
    return "\n".join([*kept, *MORE, f"pyspark=={version}.*", ""])


def _fetched(version: str) -> list[tuple[str, dict[str, str]]]:
    """The jars for a version; the newest connector of Kafka works with all."""
    found: list[tuple[str, dict[str, str]]] = [(name, {"spark": version}) for name in FORMATS[version]]
    found += [(jars.S3, HADOOP[version]), (jars.CONNECTOR, {})]
    for name, properties in found:
        jars.fetch(name, **properties)
    return found


if __name__ == "__main__":
    sys.exit(main())
