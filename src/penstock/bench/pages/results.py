"""Makes the pages of `docs/results/` from the results that `penstock bench -o docs/results` has written there.

    python -m penstock.bench.pages.results docs/results [PAGE.md ...]

One page for each experiment: what it does, its command, the machine, plots, checks, what the paper reports, and tables;
and an index. No figure is typed by hand. Other pages quote figures, and are brought up to date if they are named on the
command line. The comments around a quotation say which: all checks of some experiments, or some ratios with words for
each,

    <!-- figures of NAME NAME ... -->
    ...
    <!-- end of figures -->

    <!-- ratios
    NAME | CHECK | WHAT | AGAINST
    -->
    ...
    <!-- end of ratios -->

Of an experiment that has not been run nothing is quoted.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from penstock.bench import EXPERIMENTS
from penstock.bench.pages.tables import Row, cell, is_text, parts

Result = Mapping[str, Any]

_WRITTEN = "<!-- Written by `python -m penstock.bench.pages.results`; do not edit. -->"
_MOST_ROWS = 40
_EXACT_ENOUGH = 10
"""Ratios from here on are quoted without digits behind the point."""

_FIGURES = re.compile(
    r"(?P<begin><!-- figures of (?P<names>[\w -]+?) -->\n).*?(?P<end><!-- end of figures -->)", re.DOTALL
)
_RATIOS = re.compile(
    r"(?P<begin><!-- ratios\n(?P<lines>.*?)-->\n)(?P<table>.*?)(?P<end><!-- end of ratios -->)", re.DOTALL
)
_SENSE = {"at least": "≥ ", "at most": "≤ "}


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
    lines = [f"# {name}", "", _WRITTEN, "", _sentence(result["about"]), "", *_method(name), ""]
    lines += [
        f"`{result['command']}` took {minutes(result['seconds'])} on {machine(result['machine'])}.",
        f"All figures: [{name}.csv]({name}.csv).",
    ]
    lines += [*_plots(result), *_checks(result)]
    if name in PUBLISHED:
        lines += ["", "## In the paper", "", PUBLISHED[name].strip()]
    for title, rows in parts(name, result["results"]):
        heading = "Figures" if title == name else _sentence(title.replace("_", " "), "")
        lines += ["", f"## {heading}", "", *_table(rows, name)]
    return "\n".join([*lines, ""])


def refresh(text: str, results: Mapping[str, Result]) -> str:
    """A page with every figure that it quotes as measured.

    Example:
        >>> results = {"soda": {"checks": [{"name": "importance", "value": 5042.0, "bar": 5000.0, "holds": True}]}}
        >>> print(refresh("<!-- figures of soda cola -->\\n<!-- end of figures -->", results))
        <!-- figures of soda cola -->
        <BLANKLINE>
        | check | measured | bar | holds | reproduce with |
        |---|---:|---:|---|---|
        | importance | 5,042 | 5,000 | yes | `penstock bench soda` |
        <BLANKLINE>
        <!-- end of figures -->
    """

    def figures(match: re.Match[str]) -> str:
        rows = [
            f"{_check(check)} `penstock bench {name}` |"
            for name in match["names"].split()
            for check in (results[name]["checks"] if name in results else ())
        ]
        return _quoted(match, "| check | measured | bar | holds | reproduce with |", "|---|---:|---:|---|---|", rows)

    def ratios(match: re.Match[str]) -> str:
        asked = [tuple(part.strip() for part in line.split("|")) for line in match["lines"].splitlines()]
        rows = [
            f"| {what} | {other} | **{_ratio(results[name], check)}** | `penstock bench {name}` |"
            for name, check, what, other in asked
            if name in results
        ]
        return _quoted(match, "| what | against | times as fast | reproduce with |", "|---|---|---:|---|", rows)

    return _RATIOS.sub(ratios, _FIGURES.sub(figures, text))


def _quoted(match: re.Match[str], head: str, sides: str, rows: Sequence[str]) -> str:
    if not rows:
        return f"{match['begin']}\nNot measured yet.\n\n{match['end']}"
    return "\n".join([match["begin"], head, sides, *rows, "", match["end"]])


def _ratio(result: Result, name: str) -> str:
    (value,) = (check["value"] for check in result["checks"] if check["name"] == name)
    return f"{value:.0f}" if value >= _EXACT_ENOUGH else f"{value:.2g}"


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


def _method(name: str) -> list[str]:
    """The method of the experiment: its module's docstring after the first line; read, not imported."""
    spec = find_spec(f"penstock.bench.{name.replace('-', '_')}")
    if spec is None or spec.origin is None:
        return []
    text = ast.get_docstring(ast.parse(Path(spec.origin).read_text(encoding="utf-8"))) or ""
    return text.splitlines()[2:]


def _checks(result: Result) -> list[str]:
    if not result["checks"]:
        return []
    rows = map(_check, result["checks"])
    return [
        "",
        f"## Checks: {_held(result)} hold",
        "",
        "| check | measured | bar | holds |",
        "|---|---:|---:|---|",
        *rows,
    ]


def _check(check: Mapping[str, Any]) -> str:
    """A check as a row; results of older versions do not say on which side of the bar it is."""
    bar = _SENSE.get(check.get("sense", ""), "") + cell(check["bar"])
    return f"| {check['name']} | {cell(check['value'])} | {bar} | {'yes' if check['holds'] else '**no**'} |"


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


PUBLISHED = {
    "fusion": """
Figure 10 (radio astronomy, four nodes of four cores): automatic fusion has 1.7 times the throughput of NONE, 2 times
that of the manual one and 1.85 times that of FALL. Figure 11 (bargain detection): 6 times that of NONE, 2 times that
of FALL. Table 2 of COLA (bargain detection, 4 to 7 blades): the best of six iterations of COLA has 2.0 to 3.4 times
the throughput of NONE, that of FINT 1.6 to 3.0 times.
""",
    "cola": """
Table 1, its first application (200 operators, 283 arcs). Its costs are not published, so only the order of the
columns can be compared with ours.

| blades | cut of NONE | of FINT | of COLA | largest PE of NONE | of FINT | of COLA |
|---:|---:|---:|---:|---:|---:|---:|
| 4 | 0.3792 | 0.0661 | 0.0332 | 0.3218 | 0.5353 | 0.4990 |
| 5 | 0.3703 | 0.0441 | 0.0587 | 0.2980 | 0.5476 | 0.4676 |
| 6 | 0.7236 | 0.2698 | 0.1998 | 0.8169 | 0.8169 | 0.7560 |
| 7 | 0.6833 | 0.2492 | 0.1860 | 0.6697 | 0.6697 | 0.6666 |
""",
    "profiling": """
Figure 9 (a chain of operators in one PE): no overhead to speak of at s = 0.001, around 10 % at s = 0.01 and around 50
% at s = 0.1.
""",
    "scaling": """
Figure 6 (32 cores): with enough work a tuple, 32 channels are 32 times as fast as one in the stateless application,
31.3 times in the stateful one, and 22.6 times in the one with a shuffle, which has twice as many processes as cores;
on 16 channels that one is 15.3 times as fast. With little work the stateful ones gain 2 times, by running as a
pipeline.
""",
    "ordering": """
Figure 8: sequence numbers cost at most 12 %, with pulses at most 21 %, both where there is little work for a tuple.
""",
    "crossings": """
Figure 6: with nothing to do for a tuple, a chain of 1 to 32 operators is fastest in one PE, on four cores too. Figure
8: with enough to do, several PEs overtake it.
""",
}
"""Markdown by the name of the experiment."""


if __name__ == "__main__":
    main(sys.argv[1:])
