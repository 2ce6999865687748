"""The report of the demo: everything that it found, on one page."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.demo.facts import Facts, Run
from penstock.draw.page import Group, graph_svg
from penstock.parallel.report import summary_of
from penstock.report import code, figures, graph, hidden, page, paragraph, section, table
from penstock.report.charts import Bar, bars

_MOST_BARS = 14


def demo_report(facts: Facts) -> str:
    """The page as HTML text."""
    application = facts.application
    summary = f"{len(application.operators)} operators, {facts.found:,} bargains, {facts.seconds:.0f} s in all"
    return page(
        f"{application.name}, from its source to a cluster",
        summary,
        [_speed(facts), _graph(facts), _profile(facts), _pes(facts), _bargains(facts), _cluster(facts)],
    )


def _speed(facts: Facts) -> str:
    runs = (facts.unfused, facts.optimized)
    rows = [
        (run.title, str(len(run.pes)), f"{run.ticks:,}", f"{run.seconds:.1f}", f"{run.ticks_per_second:,.0f}")
        for run in runs
    ]
    chart = [
        Bar(label=f"{len(run.pes)} PEs", value=run.ticks_per_second, text=_rate(run), strong=run is facts.optimized)
        for run in runs
    ]
    return section(
        "Throughput on Spark",
        figures(
            [
                (f"{facts.unfused.ticks_per_second:,.0f}", "ticks a second, unfused"),
                (f"{facts.optimized.ticks_per_second:,.0f}", "ticks a second, optimized"),
                (f"{facts.speedup:.1f} ×", "as many"),
            ]
        ),
        bars("Throughput", chart),
        table(("run", "PEs", "ticks", "seconds", "ticks a second"), rows, numbers=4),
        paragraph("As far as the unfused run came, both wrote the same bargains in the same order, to the byte."),
    )


def _rate(run: Run) -> str:
    return f"{run.ticks_per_second:,.0f}/s"


def _graph(facts: Facts) -> str:
    regions = facts.regions.regions
    groups = [Group(label=summary_of(region), operators=region.operators) for region in regions]
    words = f"{len(regions)} parts of the graph may be replicated without changing the result; each has a colour."
    rows = [(region.id, ", ".join(region.operators), summary_of(region).partition(": ")[2]) for region in regions]
    return section(
        "The graph and its parallel regions",
        paragraph(words),
        graph(graph_svg(facts.application, groups)),
        hidden("All regions", table(("region", "operators", "key, selectivity, order"), rows)),
    )


def _profile(facts: Facts) -> str:
    costly = sorted(facts.profile.operators, key=lambda o: o.cpu_fraction, reverse=True)
    whole = sum(o.cpu_fraction for o in costly) or 1.0
    share = {o.id: f"{o.cpu_fraction / whole:.1%}" for o in costly}
    chart = [Bar(label=o.id, value=o.cpu_fraction, text=share[o.id]) for o in costly[:_MOST_BARS]]
    rows = [(o.id, o.kind, f"{o.rate_tps:,.0f}", f"{o.cpu_seconds * 1e6:.2f}", share[o.id]) for o in costly]
    head = ("operator", "kind", "tuples a second", "µs a tuple", "of the work")
    return section(
        "The profile: what each operator costs",
        paragraph("Measured by submit signals in a run on a part of the input: CPU time of each, as a share of all."),
        bars("Share of the work", chart),
        hidden("All operators", table(head, rows, numbers=3)),
    )


def _pes(facts: Facts) -> str:
    pes = facts.optimized.pes
    groups = [Group(label=f"PE {i}", operators=tuple(pe)) for i, pe in enumerate(pes)]
    rows = [(f"PE {i}", str(len(pe)), _shortened(pe)) for i, pe in enumerate(pes)]
    return section(
        "The PEs of the optimized run",
        paragraph("A PE is one Python worker; a stream inside it is a variable of generated code, not a message."),
        graph(graph_svg(facts.application, groups)),
        table(("PE", "operators", "which"), rows),
        code("The code of the largest PE", facts.code),
    )


def _shortened(names: Iterable[str]) -> str:
    listed = list(names)
    shown = ", ".join(listed[:6])
    return shown if len(listed) <= 6 else f"{shown} and {len(listed) - 6} more"


def _bargains(facts: Facts) -> str:
    head = ("symbol", "ask", "VWAP", "size", "time", "score", "market level")
    rows = [[_rounded(cell.strip('"')) for cell in line.split(",")] for line in facts.bargains]
    return section("The first bargains", table(head, rows, numbers=6))


def _rounded(cell: str) -> str:
    return f"{float(cell):.2f}" if "." in cell else cell


def _cluster(facts: Facts) -> str:
    chart = [
        Bar(label=name, value=cost, text=f"{cost:,.0f}", strong=cost == min(facts.traffic.values()))
        for name, cost in facts.traffic.items()
    ]
    rows = [
        (
            job,
            "yes" if verdict.admitted else "no",
            f"{verdict.mips:,.0f}",
            f"{verdict.importance:,.0f}",
            ", ".join(f"{n}: {m:,.0f}" for pe in verdict.pes for n, m in facts.nodes.mips.get(pe, {}).items() if m > 0),
        )
        for job, verdict in facts.answer.jobs.items()
    ]
    return section(
        "On a cluster of three machines",
        paragraph("Tuples that would cross between machines, by where the operators are placed:"),
        bars("Traffic", chart),
        paragraph("Four jobs want more than the cluster has. SODA admits by rank and importance, and places:"),
        table(("job", "admitted", "mips", "importance", "mips on each machine"), rows),
    )
