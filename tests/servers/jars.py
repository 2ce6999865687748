"""Jars for the tests, fetched once with Maven: `python tests/servers/jars.py` fetches all of them.

They lie in the user's cache folder, under a name that changes with the list of what is fetched.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
CONNECTOR, BROKER = "kafka-connector", "kafka-broker"
DELTA, S3 = "delta", "s3"
"""For the smoke suite on versions of Spark (`spark_versions`)."""


def cache() -> Path:
    """Where all that is fetched lies."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "penstock"


def folder(name: str, **properties: str) -> Path:
    """Where jars lie, or would."""
    text = _pom(name).read_bytes() + "".join(f"{k}={v}" for k, v in properties.items()).encode()
    return cache() / f"{name}-{hashlib.sha256(text).hexdigest()[:12]}"


def _pom(name: str) -> Path:
    return HERE / f"{name}.pom.xml"


def missing() -> str | None:
    """Why there are no jars; None if all are there."""
    absent = [name for name in (CONNECTOR, BROKER) if not folder(name).is_dir()]
    return f"the jars of {' and '.join(absent)} are not there; `make servers` fetches them" if absent else None


def fetch(name: str, **properties: str) -> None:
    """Fetch jars, unless they are there; properties are those that the list of what is fetched has."""
    target = folder(name, **properties)
    target.parent.mkdir(parents=True, exist_ok=True)
    with (target.parent / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if target.is_dir():
            return
        part = target.with_name(f"{target.name}.part")
        shutil.rmtree(part, ignore_errors=True)
        goal = ["dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={part}"]
        goal += [f"-D{name}={value}" for name, value in properties.items()]
        subprocess.run(["mvn", "-q", "-B", "-f", str(_pom(name)), *goal], check=True)
        part.rename(target)


def main() -> int:
    """Fetch everything; without Maven, or a network, the tests that need it are skipped."""
    if shutil.which("mvn") is None:
        print("there is no Maven (Debian: apt-get install maven), so the tests of Kafka are skipped", file=sys.stderr)
        return int("--required" in sys.argv)
    try:
        for name in (CONNECTOR, BROKER):
            fetch(name)
    except subprocess.CalledProcessError as error:
        print(f"Maven cannot fetch the jars, so the tests of Kafka are skipped: {error}", file=sys.stderr)
        return int("--required" in sys.argv)
    return 0


if __name__ == "__main__":
    sys.exit(main())
