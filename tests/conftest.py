"""Its place puts this folder on the import path, so that all tests find the helpers that lie here."""

import atexit
import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

import java_archive
from servers import jars

_RAM_DISK = Path("/dev/shm")
_RAM_DISK_FREE = 6 << 30

if "TMPDIR" not in os.environ and _RAM_DISK.is_dir() and shutil.disk_usage(_RAM_DISK).free > _RAM_DISK_FREE:
    # Thousands of small checkpoints are written, synced and deleted: a disk takes milliseconds for each file.
    os.environ["TMPDIR"] = os.environ["SPARK_LOCAL_DIRS"] = tempfile.mkdtemp(prefix="penstock-", dir=_RAM_DISK)
    os.chmod(os.environ["TMPDIR"], 0o711)  # a server that runs as another user has its folder in it
    tempfile.tempdir = None
    atexit.register(shutil.rmtree, os.environ["TMPDIR"], ignore_errors=True)

if jars.missing() is None:
    # The one Spark session of the tests has the Kafka connector from its start.
    os.environ.setdefault("PENSTOCK_JARS", str(jars.folder(jars.CONNECTOR)))

# Nothing here is about time: an example that is slow on a busy machine is no failure. A change is judged by the same
# examples as the one before it; who looks for new ones says `pytest --hypothesis-profile explore`.
settings.register_profile("explore", settings.get_profile(settings.get_current_profile_name()), deadline=None)
settings.register_profile("penstock", settings.get_profile("explore"), derandomize=True, database=None)
settings.load_profile("penstock")

_JAVA_OPTIONS = ["-XX:TieredStopAtLevel=1"]
"""Java machines live for seconds here: code that is compiled fast beats code that runs fast."""

if "PENSTOCK_CACHE" not in os.environ:
    # What runs leave for the next one is neither taken from the user nor left to him.
    os.environ["PENSTOCK_CACHE"] = tempfile.mkdtemp(prefix="penstock-tests-")
    atexit.register(shutil.rmtree, os.environ["PENSTOCK_CACHE"], ignore_errors=True)
    _JAVA_OPTIONS.append(java_archive.offer(Path(os.environ["PENSTOCK_CACHE"])))

if "TMPDIR" in os.environ:
    _JAVA_OPTIONS.append(f"-Djava.io.tmpdir={os.environ['TMPDIR']}")
os.environ.setdefault("SPARK_SUBMIT_OPTS", " ".join(_JAVA_OPTIONS))


def pytest_collection_finish(session: pytest.Session) -> None:
    """Start to make the archive of Java's classes where many tests will use it."""
    marks = [mark for item in session.items for mark in item.iter_markers("xdist_group")]
    commands = sum("spark-commands" in mark.args for mark in marks)
    if commands >= java_archive.COMMANDS_WORTH_IT and not session.config.option.collectonly:
        java_archive.begin(Path(os.environ["PENSTOCK_CACHE"]))
