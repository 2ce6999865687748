"""What models say of markers, time and keys holds when the operators run."""

from __future__ import annotations

import pytest

from feeding import FINAL, WINDOW, after, feed, program, run_graph
from penstock.api.operators import Operator as PythonOperator
from penstock.api.operators import definition_of, sink
from penstock.ir.graph import Operator
from penstock.ir.models import Markers, OperatorModel, Selectivity, State
from penstock.lang import compile_text
from penstock.parallel.extensions import PAPER, Extensions
from penstock.parallel.reasons import Condition
from penstock.parallel.region_plan import Joint
from penstock.parallel.regions import parallel_regions
from penstock.toolkit.core.operator_registry import standard

TUPLES = [(i % 3, i % 2, i) for i in range(24)]
PLAIN = feed("int32 k, int32 l, int32 m", TUPLES)
MARKED = feed(
    "int32 k, int32 l, int32 m", [item for i, t in enumerate(TUPLES) for item in ((t, WINDOW) if i % 5 == 4 else (t,))]
)
LATER = feed("int32 k, int32 l, int32 m", [*TUPLES, after(100)])
HEAD = "stream<int32 k, int32 l, int32 m> B = "

GRAPHS = {
    "Functor": HEAD + "Functor(A) { param filter: m % 2 == 0; output B: m = m + 1; }",
    "Filter": HEAD + "Filter(A) { param filter: m > 3; }",
    "Punctor": HEAD + "Punctor(A) { param punctuate: m % 4 == 0; position: after; }",
    "Split": HEAD.replace("B", "B; stream<int32 k, int32 l, int32 m> C")
    .replace("stream", "(stream", 1)
    .replace(" =", ") as S =", 1)
    + "Split(A) { param index: m; }",
    "Aggregate count": HEAD + "Aggregate(A) { window A: tumbling, count(2), partitioned; param partitionBy: k; }",
    "Aggregate groups": HEAD
    + "Aggregate(A) { window A: tumbling, count(4), partitioned; param partitionBy: k; groupBy: l; }",
    "Aggregate time": HEAD + "Aggregate(A) { window A: tumbling, time(5), partitioned; param partitionBy: k; }",
    "Aggregate punct": HEAD + "Aggregate(A) { window A: tumbling, punct(); }",
    "Aggregate by time": HEAD
    + "Aggregate(A) { window A: sliding, count(3), time(5), partitioned; param partitionBy: k; }",
    "Sort count": HEAD + "Sort(A) { window A: tumbling, count(3), partitioned; param partitionBy: k; sortBy: l; }",
    "Sort progressive": HEAD + "Sort(A) { window A: sliding, count(3), partitioned; param partitionBy: k; sortBy: l; }",
    "Sort punct": HEAD + "Sort(A) { window A: tumbling, punct(); param sortBy: l; }",
    "DeDuplicate": HEAD + "DeDuplicate(A) { param key: k; timeOut: 2.0; }",
    "DeDuplicate flush": HEAD + "DeDuplicate(A) { param key: k; flushOnPunctuation: true; }",
    "Union": HEAD + "Union(A; A) { }",
    "Barrier": HEAD + "Barrier(A; A as X) { param partitionBy: A.k, X.k; output B: k = A.k, l = A.l, m = A.m; }",
    "Pair": HEAD + "Pair(A; A) { }",
    "Join": HEAD
    + "Join(A; A as X) { window A: sliding, count(1); X: sliding, count(1); output B: k = A.k, l = A.l, m = A.m; }",
    "Custom": HEAD + "Custom(A) { logic onTuple A: submit(A, B); }",
    "Custom marks": HEAD + "Custom(A) { logic onTuple A: { submit(A, B); submit(Sys.WindowMarker, B); } }",
    "Custom waits": HEAD + "Custom(A) { logic onPunct A: submit({k = 0, l = 0, m = 0}, B); }",
    "Throttle": HEAD + "Throttle(A) { param rate: 1000.0; }",
    "Delay": HEAD + "Delay(A) { param delay: 1.0; }",
}


def operator(graph: str) -> Operator:
    return program(graph, A=PLAIN).application.operators[-1]


def leaves(graph: str, given: object) -> list[object]:
    items = list(run_graph(graph, collect=["B"], A=given).collected["B"])
    return [item for item in items if item is not FINAL]


def without_markers(items: list[object]) -> list[object]:
    return [item for item in items if item is not WINDOW]


@pytest.mark.parametrize("name", GRAPHS)
def test_an_operator_that_does_not_wait_for_markers_gives_the_same_tuples_without_them(name):
    graph = GRAPHS[name]
    plain, marked = leaves(graph, PLAIN), leaves(graph, MARKED)
    waits = operator(graph).model.waits_for_markers
    assert (without_markers(plain) != without_markers(marked)) == waits


@pytest.mark.parametrize("name", GRAPHS)
def test_the_markers_that_leave_an_operator_are_those_of_its_model(name):
    graph = GRAPHS[name]
    plain, marked = leaves(graph, PLAIN), leaves(graph, MARKED)
    found = operator(graph).model
    if found.markers is Markers.NONE:
        assert WINDOW not in plain
        assert WINDOW not in marked
    elif found.markers is Markers.OWN and not found.waits_for_markers:
        assert plain == marked
        assert WINDOW in marked or found.spontaneous
    elif found.markers is Markers.PASSED_ON:
        assert len(marked) > len(plain)


@pytest.mark.parametrize("name", sorted(GRAPHS.keys() - {"Delay", "Throttle"}))
def test_only_a_spontaneous_operator_gives_tuples_while_none_comes_in(name):
    graph = GRAPHS[name]
    shorter = feed(PLAIN.schema, [*TUPLES, after(0)])
    early, late = without_markers(leaves(graph, shorter)), without_markers(leaves(graph, LATER))
    found = operator(graph).model
    if early != late:
        assert found.spontaneous
    if name in ("Sort progressive", "Aggregate by time"):
        assert found.spontaneous


def graph_regions(graph: str, extensions: Extensions = PAPER) -> list[tuple[str, ...]]:
    plan = parallel_regions(program(graph, A=PLAIN).application, extensions)
    return [region.operators for region in plan.regions]


def test_an_spl_program_that_waits_for_markers_keeps_what_is_before_it_sequential():
    count = "stream<int32 n> C = Aggregate(B) { window B: tumbling, punct(); output C: n = Count(); }"
    assert graph_regions(f"{GRAPHS['Functor']}\n{count}") == []
    assert graph_regions(f"{GRAPHS['Functor']}\n{count.replace('punct()', 'count(3)')}") == [("B",)]


def test_a_file_sink_that_writes_markers_waits_for_them():
    to_file = '() as S = FileSink(B) { param file: "out.csv"; %s }'
    assert graph_regions(f"{GRAPHS['Functor']}\n{to_file % ''}") == [("B",)]
    assert graph_regions(f"{GRAPHS['Functor']}\n{to_file % 'writePunctuations: true;'}") == []
    assert graph_regions(f"{GRAPHS['Functor']}\n{to_file % 'closeMode: punct;'}") == []


def test_sorting_within_a_key_is_parallel_with_second_level_numbers_unless_it_waits_for_the_end():
    prolific = Extensions(prolific=True)
    assert graph_regions(GRAPHS["Sort count"], prolific) == [("B",)]
    assert graph_regions(GRAPHS["Aggregate groups"], prolific) == [("B",)]
    assert graph_regions(GRAPHS["Sort progressive"], prolific) == []
    assert graph_regions(GRAPHS["Aggregate by time"], prolific) == []
    assert graph_regions(GRAPHS["Sort count"]) == []


def test_windows_and_state_with_keys_in_common_are_partitioned_by_those():
    graph = HEAD + (
        "Aggregate(A) { logic state: mutable map<int32, int32> seen; onTuple A: { seen[A.k] = A.m; }"
        " window A: tumbling, count(2), partitioned; param partitionBy: k, l; }"
    )
    found = operator(graph).model
    assert (found.state, found.partition_by) == (State.PARTITIONED, (frozenset("k"),))


def test_every_standard_operator_that_is_parallelizable_has_a_key_or_no_state():
    for name in GRAPHS:
        found = operator(GRAPHS[name]).model
        assert (found.state is State.PARTITIONED) == bool(found.partition_by)


class Waits(PythonOperator):
    """Acts on markers."""

    model = OperatorModel(state=State.STATELESS, selectivity=Selectivity.EXACTLY_ONE)

    def process(self, tuple_):
        yield tuple_

    def on_punctuation(self, port):
        return None


def test_a_python_class_that_acts_on_markers_waits_for_them_even_if_it_declares_its_model():
    graph = f"{GRAPHS['Functor']}\nstream<B> C = Waits(B) {{ }}"
    text = f"composite Main {{ graph stream<{PLAIN.schema}> A = Beacon() {{ }}\n{graph} }}"
    application = compile_text(text, registry=standard().extended([definition_of(Waits)])).application
    plan = parallel_regions(application)
    assert [reason.condition for reason in plan.refused["B"]] == [Condition.MARKERS]


@sink
def to_shelves(tuple_):
    """Writes each key where nobody else writes."""


def test_a_python_sink_with_a_key_is_a_parallel_sink():
    text = f"""composite Main {{ graph
        stream<{PLAIN.schema}> A = Beacon() {{ }}
        () as S = to_shelves(A) {{ param partitionBy: k; }}
        () as T = to_shelves(A) {{ }}
    }}"""
    application = compile_text(text, registry=standard().extended([definition_of(to_shelves)])).application
    plan = parallel_regions(application)
    assert [(r.operators, r.key, r.last_joint) for r in plan.regions] == [(("S",), {"k"}, Joint.PARALLEL_SINK)]
    assert "`partitionBy` says" in plan.refused["T"][0].text
