"""The costs of operators, for people: the table of a profile, the prediction of a plan, and both on the graph."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table

    from penstock.ir.graph import Application
    from penstock.model import OperatorProfile, Plan, Prediction, Profile

_COOL, _HOT = (255, 255, 255), (240, 90, 60)
_KILO = 1000.0


def hottest_first(profile: Profile) -> list[OperatorProfile]:
    """The operators, the one that takes the most CPU time first."""
    return sorted(profile.operators, key=lambda o: -o.cpu_fraction)


def share_of(operator: OperatorProfile, profile: Profile) -> float:
    """The part of all operators' CPU time that one takes."""
    total = sum(o.cpu_fraction for o in profile.operators)
    return operator.cpu_fraction / total if total else 0.0


def cost_table(profile: Profile) -> Table:
    """The table of a profile, the hottest operators first."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    columns = ("operator", "kind", "CPU", "share", "tuples/s", "time", "+-", "gives", "bytes")
    table = Table(*columns, title=f"{profile.application}: what operators cost", title_justify="left", box=SIMPLE_HEAD)
    for column in table.columns[2:]:
        column.justify, column.no_wrap = "right", True
    sizes = {(s.producer, s.port): s.tuple_bytes for s in profile.streams}
    for o in hottest_first(profile):
        ports = range(len(o.selectivity))
        table.add_row(
            o.id,
            o.kind.rpartition("::")[2],
            f"{o.cpu_fraction:.1%}",
            f"{share_of(o, profile):.1%}",
            f"{o.rate_tps:,.0f}",
            duration(o.cpu_seconds),
            duration(math.sqrt(o.cpu_variance)),
            " ".join(f"{s:.3g}" for s in o.selectivity),
            " ".join(f"{sizes.get((o.id, port), 0.0):.0f}" for port in ports),
        )
    return table


def duration(seconds: float) -> str:
    """A short time with its unit.

    Example:
        >>> duration(0.0), duration(1.5e-8), duration(2e-6), duration(0.25)
        ('0', '15 ns', '2 us', '250 ms')
    """
    if seconds == 0:
        return "0"
    for unit, factor in (("ns", 1e9), ("us", 1e6), ("ms", 1e3)):
        if seconds * factor < _KILO:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds:.3g} s"


def prediction_lines(prediction: Prediction, plan: Plan) -> list[str]:
    """The prediction of the throughput model for a plan, as lines of text."""
    rates = ", ".join(f"`{source}` {rate:,.0f}" for source, rate in prediction.sustained_rates.items())
    lines = [
        f"sustains tuples a second: {rates}",
        f"held up by: {_named(str(prediction.bottleneck), plan)}",
        f"a micro-batch takes {prediction.fixed_seconds:.2f} s in any case",
        "busy at that rate:",
    ]
    for number, (pe, busy) in enumerate(zip(plan.pes, prediction.pe_utilization, strict=True)):
        lines.append(f"  PE {number:<3} {busy:6.1%}  {_short(pe.operators)}")
    lines += [f"  host {host} {busy:.1%}" for host, busy in prediction.host_utilization.items()]
    return lines


def _named(bottleneck: str, plan: Plan) -> str:
    kind, _, name = bottleneck.rpartition(" ")
    if kind.endswith("PE") and name.isdigit():
        return f"{bottleneck} ({_short(plan.pes[int(name)].operators)})"
    return bottleneck


def _short(operators: Sequence[str], most: int = 4) -> str:
    shown = ", ".join(operators[:most])
    return shown if len(operators) <= most else f"{shown} and {len(operators) - most} more"


def cost_page(application: Application, profile: Profile, plan: Plan, prediction: Prediction) -> str:
    """The graph with operators coloured by what they cost, and the PEs of a plan with how busy they are."""
    from penstock.draw.page import Group, graph_page

    busy = prediction.pe_utilization
    groups = [
        Group(label=f"PE {number}, busy {busy[number]:.0%}", operators=pe.operators)
        for number, pe in enumerate(plan.pes)
    ]
    notes = {o.id: _notes(o, profile) for o in profile.operators}
    page = graph_page(application, groups=groups, notes=notes)
    summary = html.escape("; ".join(prediction_lines(prediction, plan)[:2]))
    page = page.replace("</head>", f"<style>{_heat(profile)}</style></head>", 1)
    return page.replace("<svg ", f'<p class="prediction">{summary}</p><svg ', 1)


def _notes(o: OperatorProfile, profile: Profile) -> list[tuple[str, str]]:
    return [
        (
            "cost",
            f"{o.cpu_fraction:.1%} of a core, {share_of(o, profile):.1%} of all; {duration(o.cpu_seconds)} a tuple",
        ),
        ("rate", f"{o.rate_tps:,.0f} tuples a second"),
        ("measured selectivity", ", ".join(f"{s:.3g}" for s in o.selectivity) or "none leave"),
    ]


def _heat(profile: Profile) -> str:
    """Style rules that colour operators from white to red."""
    most = max((o.cpu_fraction for o in profile.operators), default=0.0) or 1.0
    return "".join(
        f'[data-id="{_css_text(o.id)}"] rect{{fill:{_colour(o.cpu_fraction / most)}!important}}'
        for o in profile.operators
    )


def _css_text(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _colour(heat: float) -> str:
    mixed = (round(a + (b - a) * heat) for a, b in zip(_COOL, _HOT, strict=True))
    return f"rgb({','.join(map(str, mixed))})"
