"""Makes the pages of `docs/results/` from the results that `penstock bench -o docs/results` has written there.

    python -m penstock.bench.results docs/results [PAGE.md ...]

One page for each experiment: its command, the machine, checks, plots and tables; and an index. No figure is typed by
hand. Other pages quote figures between two comments, and are brought up to date if they are named on the command line:

    <!-- first figures of NAME NAME ... -->     the first check of each experiment that has been run
    <!-- figures of NAME NAME ... -->           all their checks
    <!-- end of figures -->
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from penstock.bench import EXPERIMENTS
from penstock.bench.tables import Row, cell, is_text, parts

Result = Mapping[str, Any]

_WRITTEN = "<!-- Written by `python -m penstock.bench.results`; do not edit. -->"
_MOST_ROWS = 40
_QUOTED = re.compile(
    r"(?P<begin><!-- (?P<which>first figures|figures) of (?P<names>[\w -]+?) -->\n).*?(?P<end><!-- end of figures -->)",
    re.DOTALL,
)


def read_results(folder: Path) -> dict[str, Result]:
    """The results in a folder by the name of their experiment, in the order of the experiments."""
    found = {name: folder / f"{name}.json" for name in EXPERIMENTS}
    return {name: json.loads(path.read_text()) for name, path in found.items() if path.exists()}


def pages(results: Mapping[str, Result]) -> dict[str, str]:
    """The text of every page, by its file name."""
    return {"index.md": index_page(results), **{f"{name}.md": page(result) for name, result in results.items()}}


def index_page(results: Mapping[str, Result]) -> str:
    """All experiments with how many of their checks hold."""
    rows = [
        f"| [{name}]({name}.md) | {result['about']} | {_held(result)} | {minutes(result['seconds'])} |"
        for name, result in results.items()
    ]
    return "\n".join(
        [
            "# Results",
            "",
            _WRITTEN,
            "",
            "The experiments of the papers, run again. Each page has the command that repeats it, the machine it ran",
            "on, what must hold and whether it does, and the figures. `penstock bench all` runs them all.",
            "",
            "| experiment | what it is | checks that hold | time |",
            "|---|---|---|---|",
            *rows,
            "",
        ]
    )


def page(result: Result) -> str:
    """One experiment."""
    name = result["name"]
    lines = [f"# {name}", "", _WRITTEN, "", f"{_sentence(result['about'])}", "", f"`{result['command']}`, "]
    lines[-1] += f"{minutes(result['seconds'])} on {machine(result['machine'])}. All figures: [{name}.csv]({name}.csv)."
    lines += ["", *_checks(result), *_plots(result)]
    for title, rows in parts(name, result["results"]):
        lines += ["", f"## {_sentence(title, '')}", "", *_table(rows, name)]
    return "\n".join([*lines, ""])


def refresh(text: str, results: Mapping[str, Result]) -> str:
    """A page with every figure that it quotes as measured.

    Example:
        >>> results = {"soda": {"checks": [{"name": "importance", "value": 5042.0}]}}
        >>> page = "<!-- first figures of soda cola -->\\n<!-- end of figures -->"
        >>> print(refresh(page, results))
        <!-- first figures of soda cola -->
        <BLANKLINE>
        | figure | measured | reproduce with |
        |---|---:|---|
        | importance | 5,042 | `penstock bench soda` |
        <BLANKLINE>
        <!-- end of figures -->
    """

    def measured(match: re.Match[str]) -> str:
        most = 1 if match["which"] == "first figures" else None
        rows = [
            f"| {check['name']} | {cell(check['value'])} | `penstock bench {name}` |"
            for name in match["names"].split()
            for check in (results[name]["checks"][:most] if name in results else ())
        ]
        table = "\n".join(["| figure | measured | reproduce with |", "|---|---:|---|", *rows])
        return f"{match['begin']}\n{table}\n\n{match['end']}"

    return _QUOTED.sub(measured, text)


def minutes(seconds: float) -> str:
    """A duration as people say it.

    Example:
        >>> minutes(42.3), minutes(250.0)
        ('42 s', '4.2 min')
    """
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.1f} min"


def machine(facts: Mapping[str, object]) -> str:
    """A machine in a few words."""
    return (
        f"{facts['cores']} cores and {facts['memory_gib']} GiB ({facts['system']}, {facts['machine']}; "
        f"load {facts['load']} before), Python {facts['python']}, Penstock {facts['penstock']}"
    )


def _sentence(text: str, end: str = ".") -> str:
    return text[:1].upper() + text[1:] + end


def _held(result: Result) -> str:
    return f"{sum(check['holds'] for check in result['checks'])} of {len(result['checks'])}"


def _checks(result: Result) -> list[str]:
    rows = [
        f"| {check['name']} | {cell(check['value'])} | {cell(check['bar'])} | {'yes' if check['holds'] else '**no**'} |"
        for check in result["checks"]
    ]
    return ["| check | measured | bar | holds |", "|---|---:|---:|---|", *rows] if rows else []


def _plots(result: Result) -> list[str]:
    return [line for plot in result["plots"] for line in ("", f"![{plot['title']}]({plot['file']})")]


def _table(rows: Sequence[Row], name: str) -> list[str]:
    head = " | ".join(column.replace("_", " ") for column in rows[0])
    sides = "|".join("---" if is_text(rows, column) else "---:" for column in rows[0])
    body = ["| " + " | ".join(cell(value) for value in row.values()) + " |" for row in rows[:_MOST_ROWS]]
    more = [] if len(rows) <= _MOST_ROWS else ["", f"{len(rows) - _MOST_ROWS} more rows are in `{name}.csv`."]
    return [f"| {head} |", f"|{sides}|", *body, *more]


def main(arguments: Sequence[str]) -> None:
    """Write the pages of a folder, and bring the figures that other pages quote up to date."""
    folder, *others = map(Path, arguments)
    results = read_results(folder)
    for name, text in pages(results).items():
        (folder / name).write_text(text, encoding="utf-8")
    for other in others:
        other.write_text(refresh(other.read_text(encoding="utf-8"), results), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
