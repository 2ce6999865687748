"""Loops that lead through the next batch: how that changes the graph, and that it changes nothing in the results."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from loop_runner import run_with_open_loop
from penstock.base.diagnostics import UserError
from penstock.codegen.plan.channels import choose_channels
from penstock.codegen.plan.physical import physical_plan
from penstock.compiler.open_loops import has_open_loop, why_closed, with_open_loop
from penstock.lang import compile_text
from penstock.spark.checkpoint.plan_record import claim
from spark_session import environment, everything_fused, files, nothing_fused, run_reference

WORK = {
    "stateless": "Functor(Entered) { output Worked: n = n * 3; }",
    "selective": "Filter(Entered) { param filter: n % 5 != 1; }",
    "keyed": """Custom(Entered as In) {
      logic state: { mutable map<int32, int32> seen; }
            onTuple In: {
              seen[n % 4] = n % 4 in seen ? seen[n % 4] + 1 : 1;
              submit({n = n + seen[n % 4], hops = hops}, Worked);
            }
    }""",
}
SOURCES = {
    "one": ("Items", ""),
    "two": (
        "Items, Others",
        """stream<int32 n, int32 hops> Others = Beacon() {
          param iterations: 4; period: 0.5;
          output Others: n = 100 + (int32) IterationCount(), hops = 2;
        }""",
    ),
}


def looping(work: str, sources: str, copies: int):
    """Tuples that go round as often as they say, some of them as several, and a sink that sees every one pass."""
    names, others = SOURCES[sources]
    return compile_text(
        f"""
composite Main {{
  graph
    stream<int32 n, int32 hops> Items = Beacon() {{
      param iterations: 5; period: 0.7;
      output Items: n = (int32) IterationCount(), hops = (int32) IterationCount() % 4;
    }}
    {others}
    stream<int32 n, int32 hops> Entered = Custom({names}, Back as In) {{
      logic onTuple In: for (int32 i in range({copies})) submit({{n = n + 10 * i, hops = hops}}, Entered);
            onPunct In: if (currentPunct() == Sys.FinalMarker) submit({{n = -100, hops = 3}}, Entered);
    }}
    stream<int32 n, int32 hops> Worked = {WORK[work]}
    stream<int32 n, int32 hops, int32 place> Passed = Custom(Worked as In) {{
      logic state: {{ mutable int32 place = 0; }}
            onTuple In: {{ place++; submit({{n = n, hops = hops, place = place}}, Passed); }}
    }}
    stream<int32 n, int32 hops> Back = Functor(Passed) {{
      param filter: hops > 0;
      output Back: hops = hops - 1;
    }}
    () as Sink = FileSink(Passed) {{ param file: "passed.csv"; format: csv; }}
}}
"""
    )


@pytest.mark.parametrize(("work", "sources", "copies"), list(product(WORK, SOURCES, (1, 2))))
def test_an_open_loop_changes_nothing(work, sources, copies, tmp_path):
    program = looping(work, sources, copies)
    wanted = run_reference(program, tmp_path)
    assert b"\n-" in wanted["passed.csv"], "what the end sends passes once, and does not go round"
    for number, (fusion, channels) in enumerate(product((everything_fused, nothing_fused), (1, 3))):
        out = tmp_path / f"out{number}"
        out.mkdir()
        surroundings = environment(tmp_path, out)
        groups = fusion(program.application)
        run_with_open_loop(program, groups, channels, surroundings, tmp_path / f"job{number}", crashes={0, 3, 4})
        assert files(out) == wanted, (fusion.__name__, channels)


MARKERS = """
composite Main {
  graph
    stream<int32 n> Items = Beacon() { param iterations: 3; output Items: n = (int32) IterationCount(); }
    stream<int32 n> Entered = Functor(Items, Back) {}
    stream<int32 n> Back = Functor(Entered) { param filter: n > 0; output Back: n = n - 1; }
    () as Sink = FileSink(Entered) { param file: "passed.txt"; format: txt; writePunctuations: true; }
}
"""


def test_window_markers_do_not_go_round(tmp_path):
    program = compile_text(MARKERS)
    wanted = run_reference(program, tmp_path)
    assert b"WindowMarker" in wanted["passed.txt"]
    for number, fusion in enumerate((everything_fused, nothing_fused)):
        out = tmp_path / f"out{number}"
        out.mkdir()
        groups = fusion(program.application)
        run_with_open_loop(program, groups, 2, environment(tmp_path, out), tmp_path / f"job{number}")
        assert files(out) == wanted, fusion.__name__


def test_a_region_on_a_loop_has_channels_only_if_the_loop_is_open():
    application = looping("stateless", "one", 2).application
    assert "Worked" not in choose_channels(application, 2).region
    assert choose_channels(application, 2, loops_are_open=True).region["Worked"]


def test_the_loop_becomes_a_sink_and_a_source():
    program = looping("stateless", "one", 1)
    opened = with_open_loop(program).application
    assert not has_open_loop(program.application)
    assert has_open_loop(opened)
    assert [(o.id, o.kind) for o in opened.operators[-2:]] == [
        ("Back.loop.start", "loop::Start"),
        ("Back.loop.end", "loop::End"),
    ]
    assert opened.operator["Entered"].inputs[0].streams == ("Items", "Back.loop")
    assert not any(feedback for *_, feedback in opened.edges())


def test_a_batch_is_one_round(tmp_path: Path):
    program = looping("stateless", "one", 1)
    out = tmp_path / "out"
    out.mkdir()
    groups = everything_fused(program.application)
    batches = run_with_open_loop(program, groups, 1, environment(tmp_path, out), tmp_path / "job")
    # Five items that go round 0, 1, 2, 3 and 0 times, the marker that Beacon ends with, and the end.
    assert batches == 5 + (0 + 1 + 2 + 3 + 0) + 2


def test_a_checkpoint_belongs_to_one_way_of_the_loop(tmp_path: Path):
    program = looping("stateless", "one", 1)
    fusion = everything_fused(program.application)
    claim(tmp_path, physical_plan(with_open_loop(program).application, fusion))
    with pytest.raises(UserError, match="its loop led through batches, now it is to lead inside one PE"):
        claim(tmp_path, physical_plan(program.application, fusion))


LOOP = """
    stream<int32 n> In = Custom(Items, Back as T) { logic onTuple T: submit(T, In); }
    stream<int32 n> Back = Filter(In) { param filter: n < 0; }
"""


@pytest.mark.parametrize(
    ("graph", "reason"),
    [
        ("", "it has no loop"),
        (LOOP + LOOP.replace("In", "On").replace("Back", "Again"), "it has 2 feedback edges"),
        (LOOP.replace("Items, Back as T", "Items as T; Back as B"), "`In` has a port for the feedback edge alone"),
        (LOOP.replace("submit(T, In);", "submit(Sys.FinalMarker, In);"), "the code of `In` may end a stream"),
        (LOOP + "stream<int32 n> Late = Delay(In) { param delay: 1.0; }", "act when time passes"),
    ],
)
def test_why_a_loop_stays_inside_a_pe(graph, reason):
    text = f"""composite Main {{ graph
      stream<int32 n> Items = Beacon() {{ param iterations: 1; }}
      {graph}
      () as Sink = FileSink(Items) {{ param file: "a.csv"; }}
    }}"""
    program = compile_text(text)
    assert reason in str(why_closed(program.application))
    with pytest.raises(UserError, match=reason):
        with_open_loop(program)
