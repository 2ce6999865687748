"""An exported stream can be read by a job that starts later: nothing lost, nothing twice."""

from __future__ import annotations

import itertools
import json
import pickle
from pathlib import Path

import pytest

from compiling import compile_fused
from penstock import App, col
from penstock.base.diagnostics import UserError
from penstock.codegen.plan.physical import physical_plan
from penstock.codegen.transport.batches import FINAL, REPORT, TUPLE, WINDOW, decode
from penstock.expr.environment import Environment
from penstock.expr.evaluate import Evaluator
from penstock.lang import compile_text
from penstock.reference import run
from penstock.runtime.sources.outside_rows import source_pe
from penstock.spark.job.outside_sources import import_options
from penstock.spark.job.run import run_on_spark
from penstock.spark.streams.imported import ImportedBatch, ImportReader
from penstock.testing import feed
from sink_runner import Sinks
from spark_session import environment, everything_fused, session


def exporter(offer: str = 'streamId: "numbers"', name: str = "Exporter"):
    return compile_text(f"""composite {name} {{ graph
        stream<int32 x> A = Beacon() {{ param iterations: 1u; }}
        () as Out = Export(A) {{ param {offer}; }} }}""")


def importer(wanted: str = 'streamId: "numbers"'):
    return compile_text(f"""composite Importer {{ graph
        stream<int32 x> B = Import() {{ param {wanted}; }}
        () as Sink = FileSink(B) {{ param file: "got.csv"; }} }}""")


class Reading:
    """An Import, as Spark drives its reader; a new reader for every call, as after a restart."""

    def __init__(self, program, streams: Path, folder: Path, **options: str) -> None:
        plan = physical_plan(program.application, [["B", "Sink"]])
        folder.mkdir(parents=True, exist_ok=True)
        source = folder / "source.pickle"
        source.write_bytes(pickle.dumps(source_pe(plan, 0)))
        found = import_options(program.application.operator["B"], Evaluator(environment=Environment()))
        self.options = {**found, "streams": str(streams), "source": str(source), **options}
        self.schema = program.application.streams["B"].schema
        self.offset = ImportReader(self.options).initialOffset()

    def batch(self) -> list[object]:
        """The items of the next batch: values, and the names of marks."""
        start = self.offset
        self.offset = json.loads(json.dumps(ImportReader(self.options).latestOffset(start, None)))
        return self.read(start, self.offset)

    def read(self, start, end) -> list[object]:
        if start == end:
            return []
        reader = ImportReader(self.options)
        rows = [
            row for part in reader.partitions(start, end) for batch in reader.read(part) for row in batch.to_pylist()
        ]
        items = [i for row in rows if row["edge"] != REPORT for i in decode(row["tuples"], self.schema)]
        marks = {WINDOW: "window", FINAL: "final"}
        return [i.tuple_[0] if i.kind == TUPLE else marks[i.kind] for i in items if i.kind in (TUPLE, *marks)]


def exported(folder: Path, batches, **options) -> Sinks:
    sinks = Sinks(exporter(**options), folder)
    for number, batch in enumerate(batches):
        sinks.write(number, {"A": batch})
    return sinks


ITEMS = [[(1,), (2,), "window", (3,)], [], [(4,)], ["final"]]


def test_an_import_reads_what_was_exported_before_it_started(tmp_path):
    streams = exported(tmp_path, ITEMS).out / "streams"
    reading = Reading(importer(), streams, tmp_path / "in")
    assert reading.batch() == [1, 2, "window", 3, 4, "final"]
    assert reading.batch() == []


def test_an_import_follows_an_exporter_that_is_still_running(tmp_path):
    sinks = Sinks(exporter(), tmp_path)
    reading = Reading(importer(), sinks.out / "streams", tmp_path / "in")
    found = []
    for number, batch in enumerate(ITEMS):
        sinks.write(number, {"A": batch})
        found += reading.batch()
    assert found == [1, 2, "window", 3, 4, "final"]


def test_a_batch_of_the_importer_that_is_read_again_is_the_same(tmp_path):
    sinks = exported(tmp_path, ITEMS[:1])
    reading = Reading(importer(), sinks.out / "streams", tmp_path / "in")
    start = reading.offset
    first = reading.batch()
    sinks.write(1, {"A": [(9,)]})
    assert reading.read(start, reading.offset) == first == [1, 2, "window", 3]
    assert reading.batch() == [9]


def test_a_batch_of_the_exporter_that_comes_again_is_not_read_twice(tmp_path):
    sinks = exported(tmp_path, ITEMS[:1])
    reading = Reading(importer(), sinks.out / "streams", tmp_path / "in")
    assert reading.batch() == [1, 2, "window", 3]
    sinks.sinks._batch = None
    sinks.write(0, {"A": ITEMS[0]})
    sinks.crash()
    sinks.write(0, {"A": ITEMS[0]})
    assert reading.batch() == []


def test_a_crash_in_the_middle_of_a_commit_leaves_nothing_half(tmp_path):
    sinks = exported(tmp_path, ITEMS[:1])
    sinks.sinks.close()
    (log,) = (sinks.out / "streams").rglob("log")
    torn = log.read_bytes() + b'{"batch": 1, "fi'
    log.write_bytes(torn)
    (log.parent / f"{1:020d}.part").write_bytes(b"half a file")
    reading = Reading(importer(), sinks.out / "streams", tmp_path / "in")
    assert reading.batch() == [1, 2, "window", 3]
    sinks.sinks = sinks.start()
    sinks.write(1, {"A": [(4,)]})
    assert reading.batch() == [4]


def test_an_application_that_starts_anew_supersedes_what_it_wrote_before(tmp_path, monkeypatch):
    monkeypatch.setenv("PENSTOCK_STREAMS", str(tmp_path / "streams"))
    old = exported(tmp_path / "first", [[(1,)], [(2,)]])
    in_the_middle = Reading(importer(), tmp_path / "streams", tmp_path / "in", items_per_batch="1")
    assert in_the_middle.batch() == [1]
    old.sinks.close()
    exported(tmp_path / "second", [[(1,)], [(7,)]])
    assert Reading(importer(), tmp_path / "streams", tmp_path / "in").batch() == [1, 7]
    assert list(itertools.chain(*(in_the_middle.batch() for _ in range(4)))) == [2, 1, 7]


def test_jobs_of_one_application_that_run_at_the_same_time_are_both_read(tmp_path, monkeypatch):
    monkeypatch.setenv("PENSTOCK_STREAMS", str(tmp_path / "streams"))
    running = exported(tmp_path / "first", [[(1,)]])
    exported(tmp_path / "second", [[(2,)]])
    assert Reading(importer(), tmp_path / "streams", tmp_path / "in").batch() == [1, 2]
    with pytest.raises(UserError, match="another process is running the job"):
        running.start()


@pytest.mark.parametrize(
    ("offer", "wanted", "matches"),
    [
        ('properties: {kind = "bids", level = 3}', 'subscription: kind == "bids" && level > 2', True),
        ('properties: {kind = "bids"}', 'subscription: kind == "asks"', False),
        ('streamId: "a"', 'streamId: "b"', False),
        ('streamId: "a"', 'applicationName: "Exporter"; streamId: "a"', True),
        ('streamId: "a"', 'applicationName: "Other"; streamId: "a"', False),
    ],
)
def test_streams_are_found_by_name_or_by_properties(offer, wanted, matches, tmp_path):
    sinks = exported(tmp_path, [[(5,)]], offer=offer)
    found = Reading(importer(wanted), sinks.out / "streams", tmp_path / "in").batch()
    assert found == ([5] if matches else ["final"])


def test_a_filter_keeps_tuples_out_and_lets_marks_through(tmp_path):
    sinks = exported(tmp_path, ITEMS)
    reading = Reading(importer('streamId: "numbers"; filter: x % 2 == 0'), sinks.out / "streams", tmp_path / "in")
    assert reading.batch() == [2, "window", 4, "final"]


def test_a_continuous_import_does_not_end(tmp_path):
    sinks = exported(tmp_path, ITEMS)
    reading = Reading(importer(), sinks.out / "streams", tmp_path / "in", continuous="true")
    assert reading.batch() == [1, 2, "window", 3, 4]
    assert reading.batch() == []


def test_a_table_of_another_version_is_refused(tmp_path):
    sinks = exported(tmp_path, ITEMS)
    (described,) = (sinks.out / "streams").rglob("stream.json")
    described.write_text(described.read_text().replace('"format": 1', '"format": 99'))
    with pytest.raises(UserError, match="has format 99"):
        Reading(importer(), sinks.out / "streams", tmp_path / "in").batch()


def test_a_stretch_can_be_pickled():
    assert pickle.loads(pickle.dumps(ImportedBatch(["a"], True))).value == (("a",), True)


@pytest.mark.xdist_group("spark")
def test_two_jobs_on_spark_give_what_the_reference_gives_them_together(tmp_path, monkeypatch):
    monkeypatch.setenv("PENSTOCK_STREAMS", str(tmp_path / "streams"))
    first, second = App("First"), App("Second")
    numbers = first.source(feed(range(50)), "int32 x", name="A")
    numbers.filter(col.x % 3 != 0, name="F").export(streamId="numbers", name="Out")
    second.import_("int32 x", streamId="numbers", name="B").with_columns(x=col.x * 2, name="D").write_file("got.csv")
    for app, out in ((first, "one"), (second, "two")):
        (tmp_path / out).mkdir()
        program = app.program()
        settings = environment(tmp_path, tmp_path / out)
        job = compile_fused(program, everything_fused(program.application), environment=settings, batch=20)
        outcome = run_on_spark(job, session(), checkpoint=tmp_path / f"{out}-checkpoint")
    (tmp_path / "wanted").mkdir()
    run([first.program(), second.program()], environment=environment(tmp_path, tmp_path / "wanted"))
    assert (tmp_path / "two" / "got.csv").read_bytes() == (tmp_path / "wanted" / "got.csv").read_bytes()
    assert outcome.totals.submitted["B"] == [33]


CHANGING = """composite Exporter { graph
    stream<int32 x, rstring p> A = Beacon() { param iterations: 1u; }
    stream<int32 x> B = Custom(A) { logic onTuple A: {
        setOutputPortExportProperties({kind = p}, 0u); submit({x = x}, B); } }
    () as Out = Export(B) { param properties: {kind = "a"}; } }"""
ASKING = """composite Importer { graph
    stream<int32 x> B = Import() { param subscription: kind == "a"; }
    () as Sink = Custom(B) { logic onTuple B: { setInputPortImportSubscription("kind == 'b'", 0u); println(B); } } }"""


def changing(folder: Path, batches) -> Path:
    """The streams of an exporter that changes the properties of its stream, as it writes them."""
    sinks = Sinks(compile_text(CHANGING), folder)
    for number, batch in enumerate(batches):
        sinks.write(number, {"B.exported": batch})
    return sinks.out / "streams"


def offered(kind: str) -> str:
    return json.dumps({"kind": kind})


def test_an_import_takes_the_tuples_that_have_the_properties_it_asks_for(tmp_path):
    first = [(1, offered("a")), "window", (2, offered("b")), "window"]
    streams = changing(tmp_path, [first, ["window", (3, offered("a")), (4, offered("b"))], ["window", "final"]])
    wanted = Reading(importer('subscription: kind == "a"'), streams, tmp_path / "in", items_per_batch="4")
    assert [wanted.batch() for _ in range(2)] == [[1, "window"], [3, "final"]]
    other = Reading(importer('subscription: kind == "b"'), streams, tmp_path / "other")
    assert other.batch() == [2, "window", "window", 4, "window", "final"]


def test_an_import_whose_code_asks_for_others_takes_all_and_tells_their_offers(tmp_path):
    streams = changing(tmp_path, [[(1, offered("a")), (2, offered("b"))], ["final"]])
    exported(tmp_path / "fixed", [[(7,)], ["final"]], offer='properties: {kind = "c"}', name="Fixed")
    program = compile_text(ASKING)
    taken = [Reading(program, s, tmp_path / "in").batch() for s in (streams, tmp_path / "fixed" / "out" / "streams")]
    assert [[i for i in items if i != "final"] for items in taken] == [[1, 2], [7]]
