"""What is installed is what was locked, and the list of what Penstock is made of tells the same."""

from __future__ import annotations

import hashlib
import json
import re
import sys
import threading
import tomllib
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version
from pathlib import Path

import pytest

from penstock.base.modules import load_file

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "packaging"))
lock = load_file(ROOT / "packaging/lock.py", "lock")
sbom = load_file(ROOT / "packaging/sbom.py", "sbom")
TEXT = (ROOT / "requirements.lock").read_text()


def test_every_package_has_hashes_and_no_index_is_named():
    packages = lock.read_lock(TEXT)
    assert len(packages) > 100
    assert [name for name, (_, hashes) in packages.items() if not hashes] == []
    assert lock.write_lock(packages) == TEXT
    assert "//" not in TEXT.replace("packaging/lock.py", "")


def test_what_is_installed_here_is_what_is_locked():
    packages = lock.read_lock(TEXT)
    assert {name: version(name) for name in ("pyspark", "pyarrow", "numpy", "click")} == {
        name: packages[name][0] for name in ("pyspark", "pyarrow", "numpy", "click")
    }


def test_the_list_is_that_of_the_lock():
    kept = json.loads((ROOT / "sbom.cdx.json").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    made = sbom.document(TEXT, project)
    for document in (kept, made):
        for component in document["components"]:
            # What licence a package declares, and what it needs, depends on the machine that it is installed on.
            component.pop("licenses", None)
            component.pop("scope")
    assert kept == made, "run `make lock`"
    assert re.fullmatch(r"urn:uuid:[0-9a-f-]{36}", kept["serialNumber"])


@pytest.fixture
def index(tmp_path):
    files = [
        "Some_Thing-1.0.tar.gz",
        "some_thing-1.0-py3-none-any.whl",
        "some_thing-1.0-cp311-cp311-manylinux_2_17_x86_64.whl",
        "some_thing-1.0-cp39-abi3-macosx_11_0_arm64.whl",
        "some_thing-1.0-cp310-cp310-manylinux_2_17_x86_64.whl",
        "some_thing-1.0-cp312-cp312-win_amd64.whl",
        "some_thing-1.0-pp311-pypy311_pp73-manylinux_2_17_x86_64.whl",
        "some_thing-1.1-py3-none-any.whl",
        "some_thing-1.0.exe",
    ]
    links = [
        f'<a href="../../f/{file}#sha256={hashlib.sha256(file.encode()).hexdigest()}">{file}</a>' for file in files
    ]
    (tmp_path / "simple/some-thing").mkdir(parents=True)
    (tmp_path / "simple/some-thing/index.html").write_text("<html>" + "<br/>".join(links) + '<a href="x">no</a>')
    handler = type("Quiet", (SimpleHTTPRequestHandler,), {"log_message": lambda *_: None})
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=tmp_path)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/simple", files[:4]
        server.shutdown()


def test_the_hashes_are_those_of_the_files_that_may_be_installed(index):
    address, wanted = index
    found = lock.hashes_of("Some.Thing", "1.0", address)
    assert found == tuple(sorted(hashlib.sha256(file.encode()).hexdigest() for file in wanted))
    with pytest.raises(SystemExit, match=r"no files of some_thing 2\.0"):
        lock.hashes_of("some_thing", "2.0", address)
