"""What the site needs beyond the pages: its contents from the folders, and colours for SPL."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

_FIRST = [{"Home": "index.md"}, {"Tutorial": "tutorial.md"}]
_SECTIONS = {
    "Guides": "guides",
    "Reference": "reference",
    "File formats": "formats",
    "Design": "design",
    "Results": "results",
}
_MEANING = ["semantics.md", "glossary.md"]
_ORDER = [
    *("index", "pyspark", "operators", "explain", "cluster", "troubleshooting"),
    *("language", "expressions", "functions", "api", "command-line", "sources", "sinks", "kafka"),
    *("spark", "codegen", "auto-parallel", "profiler", "greedyfuse", "cola", "throughput-model", "throughput-search"),
]
"""Pages by the names of their files, as a newcomer would read them; all others follow by their titles."""


def on_config(config: Any) -> Any:
    """List every page: a section for each folder."""
    docs = Path(config.docs_dir)
    sections: list[dict[str, object]] = [*_FIRST]
    for title, folder in _SECTIONS.items():
        paths = sorted((docs / folder).glob("*.md"), key=_position)
        pages = [str(path.relative_to(docs)) for path in paths]
        if pages:
            sections.append({title: [*_MEANING, *pages] if title == "Reference" else pages})
    config.nav = sections
    return config


def on_page_markdown(markdown: str, **_: Any) -> str:
    """The highlighter knows no SPL; C++ is the nearest language that it knows."""
    return re.sub(r"^( *)```spl\b", r"\1```cpp", markdown, flags=re.MULTILINE)


def _position(path: Path) -> tuple[int, str]:
    number = _ORDER.index(path.stem) if path.stem in _ORDER else len(_ORDER)
    return number, _title(path).lower()


def _title(path: Path) -> str:
    found = re.search(r"^# (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return found[1] if found else path.stem
