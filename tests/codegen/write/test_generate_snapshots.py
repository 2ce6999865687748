"""The text of generated modules, as people read it.

After a change on purpose, write them anew and read the difference:
`PENSTOCK_SNAPSHOTS=write pytest tests/codegen/write/test_generate_snapshots.py`.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from pes import generated, plan_of

from penstock.lang import compile_file

HERE = Path(__file__).parent / "snapshots"
BARGAINS = Path(__file__).parents[3] / "examples" / "bargains" / "bargains.spl"

PES = {
    "filters": ["Group0.Trades", "Group0.Quotes", "Group1.Trades", "Group1.Quotes"],
    "windows": ["Group0.Sums", "Group0.Spread", "Group0.Vwap"],
    "joins": ["Group0.Bargains", "Group0.Scored", "Group1.Scored", "Report"],
}


@pytest.mark.parametrize("name", PES)
def test_a_pe_of_bargain_detection_reads_as_it_did(name):
    program = compile_file(BARGAINS)
    inside = PES[name]
    rest = [[o.id] for o in program.application.operators if o.id not in inside]
    plan = plan_of(program, [inside, *rest])
    text = generated(program, plan, plan.home[inside[0]]).text
    path = HERE / f"{name}.py.txt"
    if os.environ.get("PENSTOCK_SNAPSHOTS") == "write":
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")
