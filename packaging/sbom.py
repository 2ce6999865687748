"""Writes what Penstock is made of: `sbom.cdx.json`, a CycloneDX document, out of `requirements.lock`.

    python packaging/sbom.py

It lists every package that the lock names, with its version, the SHA-256 of each file that may be installed, and the
licence that the installed package declares. Which of them a user needs is told by the groups: `required` are those of
`pip install penstock` with what they need, `optional` those of the extras and of development. The same lock gives the
same document.
"""

from __future__ import annotations

import json
import sys
import tomllib
import uuid
from importlib.metadata import PackageNotFoundError, metadata, requires
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

sys.path.insert(0, str(Path(__file__).parent))

from lock import LOCK, read_lock

ROOT = Path(__file__).parents[1]
SBOM = ROOT / "sbom.cdx.json"
_LONGEST_LICENCE = 64


def document(lock: str, project: dict[str, Any]) -> dict[str, Any]:
    """The document for the text of a lock and the table `project` of pyproject.toml."""
    packages = read_lock(lock)
    required = _required(project["dependencies"], {canonicalize_name(name) for name in packages})
    own = _reference(project["name"], project["version"])
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, project['version'] + lock)}",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": own,
                "name": project["name"],
                "version": project["version"],
                "licenses": [{"expression": project["license"]}],
                "purl": own,
            }
        },
        "components": [
            _component(name, version, hashes, canonicalize_name(name) in required)
            for name, (version, hashes) in packages.items()
        ],
    }


def _component(name: str, version: str, hashes: tuple[str, ...], is_required: bool) -> dict[str, Any]:
    reference = _reference(name, version)
    licence = _licence(name)
    return {
        "type": "library",
        "bom-ref": reference,
        "name": name,
        "version": version,
        "scope": "required" if is_required else "optional",
        "hashes": [{"alg": "SHA-256", "content": hash_} for hash_ in hashes],
        **({"licenses": [{"license": {"name": licence}}]} if licence else {}),
        "purl": reference,
    }


def _reference(name: str, version: str) -> str:
    return f"pkg:pypi/{canonicalize_name(name)}@{version}"


def _licence(name: str) -> str | None:
    """The licence that an installed package declares, in a few words."""
    try:
        found = metadata(name)
    except PackageNotFoundError:
        return None
    classifiers = [c.rpartition(" :: ")[2] for c in found.get_all("Classifier") or () if c.startswith("License ::")]
    said = found["License-Expression"] or ", ".join(classifiers) or (found["License"] or "").strip()
    return said if said and len(said) <= _LONGEST_LICENCE and "\n" not in said else None


def _required(dependencies: list[str], known: set[str]) -> set[str]:
    """The names of what a plain installation needs, and what that needs."""
    found: set[str] = set()
    waiting = [Requirement(text).name for text in dependencies]
    while waiting:
        name = canonicalize_name(waiting.pop())
        if name in found or name not in known:
            continue
        found.add(name)
        try:
            texts = requires(name) or []
        except PackageNotFoundError:
            continue
        needed = (Requirement(text) for text in texts)
        waiting += [r.name for r in needed if r.marker is None or r.marker.evaluate({"extra": ""})]
    return found


def main() -> None:
    """Write the document."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    SBOM.write_text(json.dumps(document(LOCK.read_text(), project), indent=1) + "\n")


if __name__ == "__main__":
    main()
