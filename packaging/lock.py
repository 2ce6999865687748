"""Writes the SHA-256 of every file of every package into `requirements.lock`, so that pip installs nothing else.

    python packaging/lock.py            # keeps the versions that the file has
    python packaging/lock.py --freeze   # takes those that are installed here

The hashes come from the index that pip is set to use; its address does not go into the file. Files for Windows and for
other Pythons than CPython 3.11 and later are left out: Penstock does not run there.
"""

from __future__ import annotations

import re
import subprocess
import sys
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser
from pathlib import Path

from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_sdist_filename, parse_wheel_filename

LOCK = Path(__file__).parents[1] / "requirements.lock"
HEAD = """\
# Every package with the SHA-256 of its files; `python packaging/lock.py` writes them anew after a change of a version.
"""
_PIN = re.compile(r"^([A-Za-z0-9._-]+)==(\S+)", re.MULTILINE)
_OLDEST = (3, 11)


def read_lock(text: str) -> dict[str, tuple[str, tuple[str, ...]]]:
    """The version and the hashes of each package."""
    found: dict[str, tuple[str, tuple[str, ...]]] = {}
    pins = list(_PIN.finditer(text))
    for pin, end in zip(pins, [*(p.start() for p in pins[1:]), len(text)], strict=True):
        found[pin[1]] = pin[2], tuple(re.findall(r"--hash=sha256:([0-9a-f]{64})", text[pin.start() : end]))
    return found


def write_lock(packages: dict[str, tuple[str, tuple[str, ...]]]) -> str:
    """The text of the file."""
    lines = [
        " \\\n".join([f"{name}=={version}", *(f"    --hash=sha256:{hash_}" for hash_ in hashes)])
        for name, (version, hashes) in sorted(packages.items(), key=lambda item: item[0].lower())
    ]
    return HEAD + "\n".join(lines) + "\n"


def hashes_of(name: str, version: str, index: str) -> tuple[str, ...]:
    """The hashes of the files of a version that may be installed where Penstock runs."""
    with urllib.request.urlopen(f"{index.rstrip('/')}/{canonicalize_name(name)}/", timeout=60) as answer:
        links = _Links()
        links.feed(answer.read().decode())
    found = {hash_ for file, hash_ in links.found if _is_wanted(file, version)}
    if not found:
        raise SystemExit(f"the index has no files of {name} {version}")
    return tuple(sorted(found))


class _Links(HTMLParser):
    """The files of a page of an index, with their hashes."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        address, _, fragment = (dict(attrs).get("href") or "").partition("#")
        if tag == "a" and fragment.startswith("sha256="):
            self.found.append((address.rpartition("/")[2], fragment.removeprefix("sha256=")))


def _is_wanted(file: str, version: str) -> bool:
    try:
        if not file.endswith(".whl"):
            return file.endswith((".tar.gz", ".zip")) and str(parse_sdist_filename(file)[1]) == version
        _, found, _, tags = parse_wheel_filename(file)
    except (InvalidWheelFilename, ValueError):
        return False
    return str(found) == version and any(_runs_here(t.interpreter, t.abi, t.platform) for t in tags)


def _runs_here(interpreter: str, abi: str, platform: str) -> bool:
    if platform.startswith("win"):
        return False
    if abi in ("none", "abi3"):
        return interpreter.startswith(("py3", "py2", "cp3"))
    number = re.fullmatch(r"cp3(\d+)", interpreter)
    return number is not None and (3, int(number[1])) >= _OLDEST


def index_of_pip() -> str:
    """The address of the index that pip uses."""
    for variable in ("global.index-url", ":env:.index-url", "install.index-url"):
        done = subprocess.run(
            [sys.executable, "-m", "pip", "config", "get", variable], capture_output=True, text=True, check=False
        )
        if done.returncode == 0 and done.stdout.strip():
            return done.stdout.strip()
    from pip._internal.models.index import PyPI

    return PyPI.simple_url


def main(arguments: list[str]) -> None:
    """Write the file anew."""
    if "--freeze" in arguments:
        frozen = subprocess.run([sys.executable, "-m", "pip", "freeze"], capture_output=True, text=True, check=True)
        versions = {name: version for name, (version, _) in read_lock(frozen.stdout).items() if name != "penstock"}
    else:
        versions = {name: version for name, (version, _) in read_lock(LOCK.read_text()).items()}
    index = index_of_pip()
    with ThreadPoolExecutor(8) as pool:
        hashes = pool.map(lambda item: hashes_of(*item, index), versions.items())
        packages = {name: (version, found) for (name, version), found in zip(versions.items(), hashes, strict=True)}
    LOCK.write_text(write_lock(packages))


if __name__ == "__main__":
    main(sys.argv[1:])
