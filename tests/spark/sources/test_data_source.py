"""The sources of a job, batch by batch, give what they give in the reference interpreter."""

from __future__ import annotations

from pathlib import Path

import pytest
from source_reading import Sources, environment, in_the_reference, program

from penstock.base.diagnostics import UserError
from penstock.reference import run
from penstock.spark.sources.data_source import Planning, load
from penstock.spark.sources.log import SourceLog

FILE = 'stream<rstring s, int32 n> A = FileSource() { param file: "a.csv"; %s }'
LINES = 'stream<rstring line> L = FileSource() { param file: "a.csv"; format: line; }'
BEACON = "stream<int32 x> B = Beacon() { param iterations: 23; output B: x = (int32) IterationCount() * 2; }"
PERIODIC = "stream<int32 x> P = Beacon() { param iterations: 9; period: 0.5; initDelay: 1.0; output P: x = 1; }"
RANDOM = "stream<float64 x> R = Beacon() { param iterations: 20; output R: x = random(); }"
PERMISSIVE = "parsing: permissive;"

TEXTS = {
    "plain": "".join(f"row{i},{i}\n" for i in range(40)),
    "quoted": "".join(f'"row, {i}",{i}\n' for i in range(40)),
    "malformed": "".join(f"row{i},{i if i % 3 else 'x'}\n" for i in range(40)),
    "comments and blanks": "# a comment\n" + "".join(f" row{i}, {i}\n\n" for i in range(20)),
    "over several lines": "".join(f'"row\n{i}",{i}\nplain,{i}\n' for i in range(15)),
    "a quote that is never closed": 'a,1\n"b,2\n' + "".join(f"c,{i}\n" for i in range(20)),
    "carriage returns": "".join(f"row{i},{i}\r\n" for i in range(20)) + "a,1\rb,2\rc,3\rd,4\n",
    "no line end at the end": "a,1\nb,2\nc,3",
    "nothing": "",
}
COMBINATIONS = {
    "a file": [FILE % PERMISSIVE],
    "lines": [LINES],
    "a file with a header": [FILE % (PERMISSIVE + "hasHeaderLine: 2u;")],
    "a file after a while": [FILE % (PERMISSIVE + "initDelay: 3.0;")],
    "a beacon": [BEACON],
    "a beacon by time": [PERIODIC],
    "a beacon that is not determined": [RANDOM],
    "two files": [FILE % PERMISSIVE, LINES],
    "a file and beacons": [PERIODIC, FILE % PERMISSIVE, BEACON],
}


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("combination", COMBINATIONS)
def test_batches_hold_what_the_reference_gives_in_its_order(tmp_path: Path, text: str, combination: str) -> None:
    (tmp_path / "a.csv").write_text(TEXTS[text], newline="")
    made = program(*COMBINATIONS[combination])
    wanted, letters = in_the_reference(made, tmp_path)
    for turns, partitions in ((1000, 3), (4, 1)):
        found = Sources(made, tmp_path, tmp_path / f"job{turns}", turns=turns, partitions=str(partitions)).run()
        assert found.seen == wanted
        assert found.times == sorted(found.times)
        assert sorted(map(str, found.letters)) == sorted(map(str, letters))
        assert sum(found.submitted.values()) == sum(isinstance(item, tuple) for _, item in wanted)


@pytest.mark.parametrize("combination", COMBINATIONS)
def test_a_restart_between_any_two_batches_changes_nothing(tmp_path: Path, combination: str) -> None:
    (tmp_path / "a.csv").write_text(TEXTS["malformed"])
    made = program(*COMBINATIONS[combination])
    wanted, _ = in_the_reference(made, tmp_path)
    sources = Sources(made, tmp_path, tmp_path / "job", turns=5)
    while sources.step():
        sources.restart()
    assert sources.found.seen == wanted


def test_a_batch_that_was_planned_before_a_crash_is_given_again(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(TEXTS["plain"])
    sources = Sources(program(FILE % PERMISSIVE, RANDOM), tmp_path, tmp_path / "job", turns=6)
    sources.step()
    end = sources.plan_batch()
    sources.restart()
    assert sources.plan_batch() == end
    before = sources.offset
    sources.take(end)
    first, sources.found.seen = sources.found.seen[12:], []
    sources.restart()
    sources.offset = before
    sources.take(end)
    assert sources.found.seen == first


def test_the_log_of_a_file_holds_extents_and_no_tuples(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(TEXTS["plain"])
    sources = Sources(program(FILE % PERMISSIVE), tmp_path, tmp_path / "job", turns=10)
    sources.plan_batch()
    assert sorted(p.suffix for p in sources.log.iterdir()) == [".batch", ".state"]
    (part,) = SourceLog(sources.log).batch(0).parts
    assert [(e["start"], e["end"], e["lines"]) for e in part["extents"]] == [(0, 70, 10)]


def test_the_log_does_not_grow(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(TEXTS["plain"])
    sources = Sources(program(FILE % PERMISSIVE, BEACON), tmp_path, tmp_path / "job", turns=2)
    sizes = []
    while sources.step():
        sizes.append(len(list(sources.log.iterdir())))
    assert len(sizes) > 15
    assert max(sizes) <= 9, "three files for a batch: the last one, the present one, and one that is planned ahead"


def test_of_two_processes_that_plan_one_batch_the_first_one_wins(tmp_path: Path) -> None:
    made = program("stream<float64 x> R = Beacon() { param iterations: 20; output R: x = random(); }", BEACON)
    sources = Sources(made, tmp_path, tmp_path / "job", turns=1000)
    late, log = Planning(load(sources.options["program"]), sources.options), SourceLog(sources.log)
    planner = late.planner_at(0)
    batch = planner.next_batch(5)
    assert batch is not None
    end = sources.plan_batch()
    assert not log.write(0, batch, planner.snapshot())
    sources.take(end)
    assert sources.found.seen == in_the_reference(made, tmp_path)[0]


def test_several_tasks_read_one_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.toolkit.files.file_blocks.BLOCK_BYTES", 64)
    (tmp_path / "a.csv").write_text(TEXTS["plain"])
    made = program(FILE % PERMISSIVE)
    found = Sources(made, tmp_path, tmp_path / "job", turns=1000, partitions="3").run()
    assert (found.batches, found.parts) == (1, 3)
    assert found.seen == in_the_reference(made, tmp_path)[0]


@pytest.mark.parametrize("block", [1, 8, 64])
@pytest.mark.parametrize("text", TEXTS)
def test_where_blocks_are_cut_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, block: int
) -> None:
    monkeypatch.setattr("penstock.toolkit.files.file_blocks.BLOCK_BYTES", block)
    (tmp_path / "a.csv").write_text(TEXTS[text], newline="")
    made = program(FILE % (PERMISSIVE + "hasHeaderLine: true;"))
    wanted, letters = in_the_reference(made, tmp_path)
    found = Sources(made, tmp_path, tmp_path / "job", turns=1000).run()
    assert found.seen == wanted
    assert found.letters == letters


def test_a_file_that_has_changed_since_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(TEXTS["plain"])
    sources = Sources(program(FILE % PERMISSIVE), tmp_path, tmp_path / "job", turns=10)
    end = sources.plan_batch()
    (tmp_path / "a.csv").write_text("other,1\n")
    with pytest.raises(UserError, match=r"`a\.csv` has changed since the job began to read it"):
        sources.take(end)
    sources.offset = end
    with pytest.raises(UserError, match=r"`a\.csv` has changed"):
        sources.plan_batch()


def test_a_file_that_is_gone_after_a_restart_is_missed(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(TEXTS["plain"])
    sources = Sources(program(FILE % PERMISSIVE), tmp_path, tmp_path / "job", turns=10)
    sources.step()
    sources.restart()
    (tmp_path / "a.csv").unlink()
    with pytest.raises(UserError, match="cannot go on where they stood"):
        sources.plan_batch()


def test_a_strict_file_fails_with_the_record(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,1\nb,x\n")
    sources = Sources(program(FILE % ""), tmp_path, tmp_path / "job")
    with pytest.raises(UserError, match=r"operator `A` \(FileSource\) failed on b,x: attribute `n`: `x` is not"):
        sources.run()


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    sources = Sources(program(FILE % ""), tmp_path, tmp_path / "job")
    with pytest.raises(UserError, match=r"cannot open `a\.csv`: No such file"):
        sources.run()


def test_a_beacon_whose_tuple_cannot_be_made_fails_as_in_the_reference(tmp_path: Path) -> None:
    made = program(
        "stream<int32 x> B = Beacon() { param iterations: 9; output B: x = 6 / (3 - (int32) IterationCount()); }"
    )
    with pytest.raises(UserError) as there:
        in_the_reference(made, tmp_path)
    with pytest.raises(UserError) as here:
        Sources(made, tmp_path, tmp_path / "job").run()
    assert str(here.value) == str(there.value)


def test_what_the_output_clause_says_is_computed_over_columns(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1\n2\n")
    made = program(
        """stream<rstring f, int32 n, rstring t> A = FileSource() {
             param file: "a.csv"; output A: f = FileName(), t = "at " + FileName(); }"""
    )
    sources = Sources(made, tmp_path, tmp_path / "job")
    assert sources.run().seen == in_the_reference(made, tmp_path)[0]
    assert sources.found.seen[0] == ("A", ("a.csv", 1, "at a.csv"))
    assert not list(sources.log.glob("*.arrow"))


DELAYED = {
    "plain": "".join(f"{i % 3 / 2},row{i},{i}\n" for i in range(40)),
    "malformed": "".join(f"{'x' if i % 5 == 0 else i / 10},row{i},{i if i % 7 else 'y'}\n" for i in range(40)),
    "odd": '# comment\n1,a,1\n-2,b,2\n,c,3\n nan,d,4\n1_0,"e, f",5\n0.0000000015,g,6\n1e300,h,7\nnull,i,8\n0.5\n2,j,9',
}


@pytest.mark.parametrize("block", [16, 1 << 20])
@pytest.mark.parametrize("text", DELAYED)
def test_delays_pass_before_tuples_that_are_read_by_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, block: int
) -> None:
    monkeypatch.setattr("penstock.toolkit.files.file_blocks.BLOCK_BYTES", block)
    (tmp_path / "a.csv").write_text(DELAYED[text])
    made = program(FILE % (PERMISSIVE + "hasDelayField: true; initDelay: 1.5;"))
    surroundings, wanted = environment(tmp_path), []
    run(made, environment=surroundings, on_tuple=lambda _, item: wanted.append((surroundings.clock.now_ns, item)))
    for turns in (3, 1000):
        sources = Sources(made, tmp_path, tmp_path / f"job{turns}", turns=turns)
        while sources.step():
            sources.restart()
        found = zip(sources.found.times, [item for _, item in sources.found.seen], strict=True)
        assert [pair for pair in found if isinstance(pair[1], tuple)] == [p for p in wanted if isinstance(p[1], tuple)]
        assert not list(sources.log.glob("*.arrow"))
