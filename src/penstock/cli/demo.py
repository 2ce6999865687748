"""`penstock demo`: the whole story on one example."""

from __future__ import annotations

from pathlib import Path

import click

from penstock.cli import print_json


@click.command()
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("demo-results"),
    show_default=True,
    metavar="DIR",
    help="Where the report and the bargains go.",
)
@click.option("--ticks", type=click.IntRange(min=1000), default=200_000, show_default=True, help="How much input.")
@click.option("--master", metavar="URL", default="local[*]", show_default=True, help="The Spark cluster.")
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
def command(out: Path, ticks: int, master: str, as_json: bool) -> int:
    """Compile, profile, fuse, run, place and admit bargain detection.

    Tells what it does as it goes, in under three minutes on two cores, and
    writes one page, report.html, with the graphs, the PEs, the profile and
    the charts. Ctrl-C stops it and leaves nothing behind.

    \b
    Example:
        penstock demo
        penstock demo --ticks 50000 --out results
    """
    from penstock.demo.narrator import Narrator
    from penstock.demo.report import demo_report
    from penstock.demo.story import STEPS, tell

    narrator = Narrator(STEPS)
    facts = tell(out, ticks=ticks, master=master, narrator=narrator)
    report = out / "report.html"
    report.write_text(demo_report(facts), encoding="utf-8")
    narrator.say(
        f"\n{facts.unfused.ticks_per_second:,.0f} ticks a second unfused, {facts.optimized.ticks_per_second:,.0f} "
        f"optimized: {facts.speedup:.1f} times as many. {narrator.seconds:.0f} s in all.\nThe report is in {report}"
    )
    if as_json:
        print_json(facts.to_json())
    return 0
