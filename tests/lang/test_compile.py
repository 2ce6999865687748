"""Files, namespaces, toolkits, main composites: what lies around the text of a program."""

from pathlib import Path

import pytest
from programs import messages, outcome

from penstock.base.diagnostics import UserError
from penstock.lang import compile_file, compile_text

ROOT = Path(__file__).parents[2]

FIGURE_1 = """
composite Main {
  type
  Entry = tuple<uint32 uid, rstring server, rstring msg>;
  Summary = tuple<uint32 uid, int32 total>;
  graph
  stream<Entry> Messages = ParSrc() {
    param servers: "logs*.com";
    partitionBy: server;
  }
  stream<Summary> Summaries = Aggregate(Messages) {
    window Messages: tumbling, time(5), partitioned;
    param partitionBy: uid;
    output Summaries: uid = Any(uid), total = Count();
  }
  stream<Summary> Suspects = Filter(Summaries) {
    param filter: total > 100;
  }
  () as Sink = FileSink(Suspects) {
    param file: "suspects.csv";
    format: csv;
  }
}
"""


def write(folder: Path, **files: str) -> Path:
    """Write SPL files, whose names have `__` where paths have slashes, and return the folder."""
    for name, text in files.items():
        path = folder / f"{name.replace('__', '/')}.spl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def test_figure_1_of_the_paper_compiles_character_for_character() -> None:
    program = compile_text(FIGURE_1, toolkits=[ROOT / "examples" / "network_monitoring" / "toolkit"])
    kinds = {o.id: o.kind for o in program.application.operators}
    assert list(kinds) == ["Messages", "Summaries", "Suspects", "Sink"]
    summaries = program.application.operator["Summaries"]
    assert summaries.model.partition_by == (frozenset({"uid"}),)


def test_the_example_has_the_text_of_figure_1() -> None:
    examples = (ROOT / "examples" / "network_monitoring").glob("*.spl")
    assert any(FIGURE_1.strip() in path.read_text(encoding="utf-8") for path in examples)


def test_files_of_one_application_find_each_other_by_namespace(tmp_path: Path) -> None:
    folder = write(
        tmp_path,
        my__app__Main="""namespace my.app; use my.parts::*; use my.types::Pair;
            composite Main { graph
              stream<Pair> N = Source() { }
              () as Out = Custom(N) { logic onTuple N: println(double(a) + my.parts::half(b)); } }""",
        my__parts__Source="""namespace my.parts; use my.types::*;
            public composite Source(output O) { graph
              stream<Pair> O = Beacon() { param iterations: 1; output O: a = 1, b = 10; } }""",
        my__parts__Functions="""namespace my.parts;
            public int32 double(int32 x) { return 2 * x; }
            public int32 half(int32 x) { return secret(x) / 2; }
            int32 secret(int32 x) { return x; }""",
        my__types__Types="namespace my.types; type Pair = int32 a, int32 b;",
    )
    program = compile_file(folder / "my" / "app" / "Main.spl")
    assert program.application.name == "my.app::Main"
    assert [f.name for f in program.application.functions] == ["my.parts::double", "my.parts::half", "my.parts::secret"]
    assert outcome(program, tmp_path / "out") == "7\n"


def test_a_toolkit_folder_gives_composites_and_its_private_parts_stay_private(tmp_path: Path) -> None:
    toolkit = write(
        tmp_path / "kit",
        kit__Parts="""namespace kit;
            public composite Open(output O) { graph stream<int32 x> O = Beacon() { param iterations: 1; } }
            composite Closed(output O) { graph stream<int32 x> O = Beacon() { param iterations: 1; } }
            int32 hidden() { return 1; }""",
    )
    text = "use kit::*; composite Main { graph stream<int32 x> A = %s() { } }"
    assert compile_text(text % "Open", toolkits=[toolkit]).application.operators[0].id == "A.O"
    assert compile_text("composite Main { graph stream<int32 x> A = kit::Open() { } }", toolkits=[toolkit])
    with pytest.raises(UserError, match="the composite `Closed` is not public"):
        compile_text(text % "Closed", toolkits=[toolkit])
    with pytest.raises(UserError, match="the function `hidden` is not public"):
        compile_text("use kit::*; int32 f() { return hidden(); } composite Main { graph }", toolkits=[toolkit])


def test_a_file_with_a_mistake_disturbs_only_those_who_need_it(tmp_path: Path) -> None:
    write(tmp_path, Main="composite Main { graph stream<int32 x> A = %s() { } }", Broken="composite Broken(output O) {")
    main = tmp_path / "Main.spl"
    main.write_text("composite Main { graph stream<int32 x> A = Beacon() { } }")
    assert compile_file(main)
    main.write_text("composite Main { graph stream<int32 x> A = Broken() { } }")
    with pytest.raises(UserError, match=r"Broken.spl:1:\d+: error: expected"):
        compile_file(main)


def test_a_mistake_in_another_file_is_shown_there(tmp_path: Path) -> None:
    folder = write(
        tmp_path,
        Main="composite Main { graph stream<int32 x> A = Part() { } }",
        Part="composite Part(output O) { graph\n  stream<int32 x> O = Beacom() { } }",
    )
    with pytest.raises(UserError, match=r"Part.spl:2:23: error: there is no operator `Beacom`"):
        compile_file(folder / "Main.spl")


def test_the_main_composite_can_be_chosen() -> None:
    text = "composite A { graph } composite B { graph } composite C(input I) { graph }"
    assert compile_text(text, main="B").application.name == "B"
    with pytest.raises(UserError, match="there is no composite `D`"):
        compile_text(text, main="D")
    with pytest.raises(UserError, match="`C` has ports, so it cannot be the main composite"):
        compile_text(text, main="C")


def test_a_composite_that_another_invokes_is_not_taken_for_the_main_one() -> None:
    text = "composite Main { graph () as P = Part() { } } composite Part { graph }"
    assert compile_text(text).application.name == "Main"


def test_a_file_that_cannot_be_read_is_the_users_mistake(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot read"):
        compile_file(tmp_path / "none.spl")
    (tmp_path / "latin.spl").write_bytes(b"// \xe9")
    with pytest.raises(UserError, match="is not UTF-8 text"):
        compile_file(tmp_path / "latin.spl")


def test_deep_nesting_is_reported_and_not_a_crash() -> None:
    deep = "(" * 5000 + "1" + ")" * 5000
    text = f"composite Main {{ graph () as A = Custom() {{ logic onProcess: println({deep}); }} }}"
    assert messages(text) == ["test.spl:1:1: error: the program is nested too deeply"]


def test_a_long_sum_is_checked_in_linear_time() -> None:
    names = " + ".join(["x"] * 400)
    text = f"""composite Main {{ graph stream<int32 x> A = Beacon() {{ }}
        stream<int32 x> B = Functor(A) {{ output B: x = {names}; }} }}"""
    assert messages(text) == []


def test_compile_time_values_reach_constants() -> None:
    text = """composite Main { graph
        stream<int32 x> A = Beacon() { config placement: host(getCompileTimeValue("where")); } }"""
    program = compile_text(text, compile_values={"where": ["h7"]})
    assert program.application.constraints[0].hosts == ("h7",)


def test_files_that_happen_to_lie_below_the_application_are_left_alone(tmp_path: Path) -> None:
    write(
        tmp_path,
        Main="composite Main { graph stream<int32 x> A = Beacon() { } }",
        other__Broken="composite Beacon(output O) { graph !!! }",
        User="composite User { graph stream<int32 x> A = Beacon( }",
    )
    assert compile_file(tmp_path / "Main.spl").application.operators[0].kind == "Beacon"
