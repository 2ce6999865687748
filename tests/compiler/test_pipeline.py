"""The pipeline: its stages in order, each verified, and what is generated is what is shown, kept and run."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace

import pytest
from click.testing import CliRunner
from optimizer_settings import setting

from compiling import compile_fused
from penstock.base.diagnostics import UserError
from penstock.cli import cli
from penstock.codegen import build as codegen_build
from penstock.codegen.plan import pieces
from penstock.codegen.transport.batches import REPORT
from penstock.codegen.write import generate
from penstock.compiler import Options, compile
from penstock.compiler import pipeline as stages
from penstock.compiler.pipeline import STAGES, Stage, StageFailed, run_stages
from penstock.expr.environment import Environment
from penstock.lang import compile_text
from penstock.model import equal_hosts
from penstock.optimizer.kept_profiles import keep_profile
from penstock.profiler.sampling import Sampling
from penstock.runtime.pes.pe_module import load_module
from penstock.spark.checkpoint.plan_record import claim
from penstock.spark.sources.data_source import dump, load_pieces
from penstock.spark.workers.instances import load_instance

TEXT = """composite Main { graph
    stream<int32 k, int32 x> A = Beacon() { param iterations: 20u; output A: k = (int32) IterationCount() % 3; }
    stream<A> B = Filter(A) { param filter: k > 0; }
    stream<A> C = Delay(B) { param delay: 1.0; }
    stream<A> D = Functor(C) { output D: x = x + 1; }
    stream<A> E = Aggregate(D) {
      window D: tumbling, count(2), partitioned; param partitionBy: k; output E: k = Any(k), x = Sum(x); }
    () as Sink = FileSink(E) { param file: "out.csv"; } }"""
LOOP = """composite Main { graph
    stream<int32 a> In = Beacon() { param iterations: 10; }
    stream<int32 a> Tasks = Custom(In, Again as T) { logic onTuple T: for (int32 i in range(4)) submit(T, Tasks); }
    stream<int32 a> Work = Functor(Tasks) { output Work: a = a + 1; }
    stream<int32 a> Again = Custom(Work as T) {
      logic state: { mutable int32 seen = 0; }
            onTuple T: { seen++; if (seen % 8 == 0) submit(T, Again); }
    }
    () as Out = FileSink(Again) { param file: "out"; } }"""
PROGRAM = compile_text(TEXT)


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path / "cache"))


def test_the_stages_read_like_the_design():
    assert [stage.name for stage in STAGES] == [
        "choose loops",
        "find regions",
        "choose channels",
        "choose fusion",
        "cut into PEs",
        "place",
        "generate",
    ]


def test_every_stage_is_kept():
    keep_profile(setting(PROGRAM.application).profile, PROGRAM.application)
    job = compile(PROGRAM, Options(fusion="all", channels=2, hosts=equal_hosts(2)))
    assert job.program is PROGRAM
    assert job.parallel.regions
    assert set(job.regions.width.values()) == {2}
    assert job.choice.fusion == (tuple(o.id for o in PROGRAM.application.operators),)
    assert {pe.channels for pe in job.plan.pes} == {1, 2}
    assert job.placed is not None
    assert job.placed.plan is job.plan
    assert set(job.build.pieces) == {pe.index for pe in job.plan.pes if pe.role not in ("source", "sink")}


def test_the_program_of_an_open_loop_has_no_loop_and_its_regions_are_those_of_the_loop():
    program = compile_text(LOOP)
    job = compile(program, Options(fusion="all", channels=2, loops="batches"))
    assert job.loop_is_open
    assert not any(port.feedback for o in job.program.application.operators for port in o.inputs)
    assert [pe.channels for pe in job.plan.pes if "Work" in pe.operators] == [2]
    inside = compile(program, Options(fusion="all", channels=2, loops="inside"))
    assert not inside.loop_is_open
    assert inside.program is program
    assert [pe.channels for pe in inside.plan.pes if "Work" in pe.operators] == [1]


def test_a_stage_that_makes_nonsense_is_named(monkeypatch):
    def lose_a_pe(draft):
        made = stages.cut_into_pes(draft)
        return replace(made, plan=replace(made.plan, pes=made.plan.pes[:-1]))

    wrong = tuple(Stage(s.name, lose_a_pe, s.check) if s.name == "cut into PEs" else s for s in STAGES)
    monkeypatch.setattr(stages, "STAGES", wrong)
    with pytest.raises(StageFailed, match=r"the operator `Sink` is there 0 times, in the stage `cut into PEs`"):
        compile(PROGRAM, Options(fusion="all"))


def test_an_exception_of_ours_names_its_stage_and_an_error_of_the_user_is_told_as_it_is(monkeypatch):
    def divide(draft):
        return 1 // 0

    with pytest.raises(UserError, match=r"error: `--fusion cola` needs a profile of `Main`, and") as told:
        compile(PROGRAM, Options(fusion="cola"))
    assert not getattr(told.value, "__notes__", ())
    monkeypatch.setattr(stages, "STAGES", (Stage("choose loops", divide, lambda draft: iter(())),))
    with pytest.raises(ZeroDivisionError) as caught:
        compile(PROGRAM, Options())
    assert caught.value.__notes__ == ["in the stage `choose loops` of compiling `Main`"]


def test_an_unknown_stage_is_refused():
    with pytest.raises(ValueError, match="there is no stage `last`"):
        run_stages(PROGRAM, Options(fusion="all"), until="last")


@pytest.mark.parametrize("sampling", [None, Sampling()])
def test_what_is_shown_is_kept_and_run_byte_for_byte(tmp_path, sampling):
    """`explain`, the build folder and a worker have the same text, in pieces too."""
    job = compile_fused(PROGRAM, [["B", "C", "D"], ["E"]], channels=1, sampling=sampling)
    kept = {path.stem: path.read_text(encoding="utf-8") for path in job.build.write(tmp_path / "build")}
    assert sorted(kept) == ["pe_1_0", "pe_1_2", "pe_2"]
    dump(job.program, job.plan, Environment(), job.build, tmp_path / "program")
    (program, _, environment), code = load_pieces(str(tmp_path / "program"), 1)
    loaded = load_module(program, code, environment)
    assert [module.code.text for module in loaded.modules.values()] == [kept["pe_1_0"], kept["pe_1_2"]]
    if sampling is not None:
        assert "pe.signals" in kept["pe_2"]
        return
    (tmp_path / "app.spl").write_text(TEXT)
    (tmp_path / "plan.json").write_text(json.dumps(_plan_file()))
    arguments = ["explain", str(tmp_path / "app.spl"), "--stage", "generated", "--plan", str(tmp_path / "plan.json")]
    shown = CliRunner().invoke(cli, [*arguments, "--json"])
    assert shown.exit_code == 0, shown.output
    codes = [pe["code"] for pe in json.loads(shown.stdout)["pes"]]
    assert codes == [None, f"{kept['pe_1_0']}\n\n{kept['pe_1_2']}", kept["pe_2"], None]


def test_a_worker_generates_nothing(tmp_path, monkeypatch):
    job = compile_fused(PROGRAM, [["B", "C", "D"], ["E"]])
    path = tmp_path / "program"
    dump(job.program, job.plan, Environment(), job.build, path)

    def refuse(*given):
        raise AssertionError("a worker generates code")

    for module in (pieces, generate, codegen_build):
        for name in ("generate", "pieces_of", "build"):
            if hasattr(module, name):
                monkeypatch.setattr(module, name, refuse)
    for pe in job.build.pieces:
        instance = load_instance((str(path), path.stat().st_mtime_ns, pe))
        assert next(edge for edge, _ in instance.process_batch([])) == REPORT


def _plan_file() -> dict[str, object]:
    from penstock.optimizer import PlanFile, fingerprint
    from penstock.optimizer.plan_format import plan_to_json

    plan = PlanFile(
        application="Main", fingerprint=fingerprint(PROGRAM.application), fusion=(("B", "C", "D"), ("E",)), channels=1
    )
    return dict(plan_to_json(plan))


def test_a_build_leaves_nothing_of_another_one_behind(tmp_path):
    compile_fused(PROGRAM, [["B"], ["C"], ["D"], ["E"]]).build.write(tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["pe_1.py", "pe_3.py", "pe_4.py"]
    compile_fused(PROGRAM, [["B"], ["C", "D", "E"]]).build.write(tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["pe_1.py", "pe_2_1.py"]


def test_compiling_twice_gives_the_same_modules():
    texts = [
        {name: module.text for name, module in compile(PROGRAM, Options(fusion="all")).build.modules.items()}
        for _ in range(2)
    ]
    assert texts[0] == texts[1]


def test_a_build_survives_its_way_to_a_worker():
    job = compile(PROGRAM, Options(fusion="all"))
    there = pickle.loads(pickle.dumps(job.build))
    assert {name: m.text for name, m in there.modules.items()} == {n: m.text for n, m in job.build.modules.items()}
    assert there.reasons == job.build.reasons


def test_the_checkpoint_of_another_program_is_refused_in_words(tmp_path):
    """Not by a stage that finds operators missing in the PEs of the checkpoint."""
    claim(tmp_path, compile(PROGRAM, Options(fusion="all")).plan)
    grown = compile_text(
        TEXT.replace("() as Sink = FileSink(E)", "stream<A> F = Filter(E) {} () as Sink = FileSink(F)")
    )
    job = compile(grown, Options(checkpoint=tmp_path))
    assert job.choice.decided_by == "checkpoint"
    with pytest.raises(UserError, match="the application has changed since it was written"):
        claim(tmp_path, job.plan)


def test_a_resumed_job_has_the_plan_and_the_modules_that_it_had(tmp_path):
    first = compile_fused(PROGRAM, [["B", "C"], ["D", "E"]], channels=3)
    claim(tmp_path, first.plan)
    again = compile(PROGRAM, Options(checkpoint=tmp_path))
    assert again.plan.pes == first.plan.pes
    assert again.plan.edges == first.plan.edges
    assert claim(tmp_path, again.plan)
    # It looks for a profile now; without that the code is the same.
    plain = compile(PROGRAM, Options(pes=again.choice.fusion, channels=again.choice.channels))
    assert [m.text for m in plain.build.modules.values()] == [m.text for m in first.build.modules.values()]


def test_a_short_profile_is_taken_of_a_job_that_samples_and_writes_elsewhere(tmp_path):
    taken = []

    def measure(program, options):
        job = compile(program, options)
        taken.append(job)
        assert job.options.environment.output_directory.is_dir()
        return setting(PROGRAM.application).profile

    said: list[str] = []
    options = Options(
        environment=Environment(output_directory=tmp_path),
        fusion="cola",
        channels="auto",
        cores=2,
        measure=measure,
        tell=said.append,
    )
    job = compile(PROGRAM, options)
    (short,) = taken
    assert short.plan.signals is not None
    assert short.options.environment.output_directory != tmp_path
    assert job.plan.signals is None
    assert said[0] == "a short profile first: this application has none yet"
    assert said[1].endswith("of up to 2 channels, by the last profile")
