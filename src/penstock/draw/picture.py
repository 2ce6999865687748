"""The drawing of an application's graph as a picture of its own, for a notebook: its colours are in it."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.draw.page import Group, graph_svg
from penstock.ir.graph import Application

# Everything is below one class, so that the style changes nothing else on the page of a notebook.
_STYLE = """
.penstock-graph{max-width:100%;height:auto}
.penstock-graph .streams path{fill:none;stroke:#8a94a3;stroke-width:1.3}
.penstock-graph .streams path.feedback{stroke-dasharray:5 4}
.penstock-graph marker path{fill:#8a94a3}
.penstock-graph .group{opacity:.55}
.penstock-graph .group path{fill:none;stroke-width:26;stroke-linecap:round}
.penstock-graph .g0 rect{fill:#b9d7f0}.penstock-graph .g0 path{stroke:#b9d7f0}
.penstock-graph .g1 rect{fill:#f3cfa2}.penstock-graph .g1 path{stroke:#f3cfa2}
.penstock-graph .g2 rect{fill:#c6dfb5}.penstock-graph .g2 path{stroke:#c6dfb5}
.penstock-graph .g3 rect{fill:#dcc4ea}.penstock-graph .g3 path{stroke:#dcc4ea}
.penstock-graph .g4 rect{fill:#f2bfc4}.penstock-graph .g4 path{stroke:#f2bfc4}
.penstock-graph .operator rect{stroke:#c9ced6;fill:#f0f0ee}
.penstock-graph .source rect{fill:#d7ecd9}.penstock-graph .sink rect{fill:#e6e0f3}
.penstock-graph .stateless rect{fill:#dcebfa}.penstock-graph .partitioned rect{fill:#fdebc8}
.penstock-graph text{fill:#1d2733;font:600 12.5px system-ui,sans-serif}
.penstock-graph text.kind{fill:#667085;font:11.5px system-ui,sans-serif}
"""


def graph_picture(application: Application, groups: Sequence[Group] = ()) -> str:
    """The drawing as SVG text that stands alone.

    Example:
        >>> from penstock.ir.graph import Operator
        >>> picture = graph_picture(Application(name="Main", operators=(Operator(id="A", kind="Beacon"),)))
        >>> picture.startswith("<svg ") and "Beacon" in picture
        True
    """
    opening, _, rest = graph_svg(application, groups).partition(">")
    opening = opening.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg" class="penstock-graph"', 1)
    return f"{opening}><style>{_STYLE}</style>{rest}"
