from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from placement_strategies import problems

from penstock.base.diagnostics import UserError
from penstock.placement import CommunicationGraph
from penstock.placement.graph_format import parse_graph, read_graph, write_partition


def _text(graph: CommunicationGraph, *, volumes: bool, weights: bool, traffic: bool, comments: bool) -> bytes:
    """A graph as METIS writes it, with the parts that the flags ask for."""
    flags = f"{volumes:d}{weights:d}{traffic:d}"
    lines = [f"{graph.tasks} {graph.edges} {flags} {graph.resources if weights else ''}"]
    for task in range(graph.tasks):
        numbers = [graph.volumes[task]] * volumes + list(graph.weights[task]) * weights
        for neighbour, load in zip(graph.neighbours(task), graph.neighbour_traffic(task), strict=True):
            numbers += [neighbour + 1] + [load] * traffic
        lines += ["% a comment with 1 2 3"] * comments + [" ".join(str(int(number)) for number in numbers)]
    return ("\n".join(lines) + "\n").encode()


@given(problem=problems(), flags=st.tuples(*[st.booleans()] * 4))
@settings(max_examples=100, deadline=None)
def test_a_graph_survives_being_written_and_read_with_any_format_flags(problem, flags):
    volumes, weights, traffic, comments = flags
    graph = problem.graph
    again = parse_graph(_text(graph, volumes=volumes, weights=weights, traffic=traffic, comments=comments), "g.graph")
    assert (again.starts == graph.starts).all()
    assert (again.adjacent == graph.adjacent).all()
    assert (again.traffic == (graph.traffic if traffic else 1.0)).all()
    assert (again.weights == (graph.weights if weights else 1.0)).all()
    assert (again.volumes == (graph.volumes if volumes else 1.0)).all()


def test_the_neighbours_may_stand_in_any_order_and_lines_end_in_any_way():
    graph = parse_graph(b"%first\r\n3 3 1\r\n3 5 2 4\r\n  3 6\t1 4\r\n1 5 2 6", "g.graph")
    assert graph.neighbours(0).tolist() == [1, 2]
    assert graph.neighbour_traffic(0).tolist() == [4.0, 5.0]


def test_a_task_without_neighbours_has_an_empty_line():
    graph = parse_graph(b"3 1\n3\n\n1\n\n\n", "g.graph")
    assert graph.neighbours(1).tolist() == []
    assert graph.edges == 1


def test_the_manuals_example_with_sizes_weights_and_edge_weights_is_read():
    graph = parse_graph(b"2 1 111 3\n7 1 2 3 2 9\n8 4 5 6 1 9\n", "g.graph")
    assert graph.volumes.tolist() == [7, 8]
    assert graph.weights.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert graph.traffic.tolist() == [9, 9]


MESSAGES = {
    "an empty file": (b"", "`g.graph` is empty"),
    "only comments": (b"% nothing\n", "g.graph:1:1: error: the header has 0 numbers; write: TASKS EDGES"),
    "a short header": (b"3\n", "g.graph:1:1: error: the header has 1 numbers"),
    "a long header": (b"3 1 0 1 5\n", "the header has 5 numbers"),
    "no tasks": (b"0 0\n", "the graph has no tasks"),
    "a bad format": (b"2 1 012\n2\n1\n", "g.graph:1:1: error: the format is 12; it has three digits, each 0 or 1"),
    "no weights where there should be": (b"2 1 010 0\n2\n1\n", "tasks have weights, and their number is 0"),
    "a word": (b"2 1\n2\n1 x7\n", "g.graph:3:1: error: `x7` is not a whole number"),
    "a fraction": (b"2 1 001\n2 1.5\n1 1.5\n", "g.graph:2:1: error: `1.5` is not a whole number"),
    "a negative weight": (b"% c\n2 1 011\n1 2 5\n-4 1 5\n", "g.graph:4:1: error: `-4` is a negative number"),
    "a huge number": (b"2 1 001\n2 1234567890123456789\n1 1\n", "`1234567890123456789` is too large a number"),
    "a cut file": (b"4 3\n2\n1 3\n", "the header says 4 tasks and 2 lines follow it; the file is cut short"),
    "a line too many": (b"2 1\n2\n1\n1\n", "g.graph:4:1: error: this line comes after those of all 2 tasks"),
    "a missing weight": (b"2 1 010 2\n1 1 2\n1\n", "g.graph:3:1: error: task 2 has 1 numbers and needs 2"),
    "a missing edge weight": (b"2 1 001\n2 5\n1\n", "g.graph:3:1: error: the last neighbour of task 2 has no edge"),
    "a neighbour beyond": (
        b"2 1\n2\n7\n",
        "g.graph:3:1: error: task 2 has the neighbour 7, and tasks are numbered 1 to 2",
    ),
    "a neighbour zero": (b"2 1\n2\n0\n", "g.graph:3:1: error: task 2 has the neighbour 0"),
    "a loop": (b"2 1\n1\n2\n", "g.graph:2:1: error: task 1 is a neighbour of itself (and 1 more like it)"),
    "an edge of no weight": (b"2 1 001\n2 0\n1 0\n", "the edge from task 1 to task 2 weighs nothing"),
    "a wrong number of edges": (
        b"3 3\n2\n1 3\n2\n",
        "g.graph:1:1: error: the header says 3 edges and the lines hold 2",
    ),
    "a neighbour twice": (b"3 2\n2 2\n1 1\n\n", "g.graph:2:1: error: task 1 lists its neighbour 2 twice"),
    "an edge at one end": (
        b"4 2\n2 3\n1\n\n1\n",
        "g.graph:2:1: error: task 1 lists task 3 as its neighbour, but line 4, that of task 3, does not list task 1",
    ),
    "an edge at one end that also spoils the count": (
        b"3 2\n2\n1\n2\n",
        "g.graph:4:1: error: task 3 lists task 2 as its neighbour, but line 3, that of task 2, does not list task 3",
    ),
    "a wrong count under a comment": (
        b"% a\n2 7\n% b\n2\n1\n",
        "g.graph:2:1: error: the header says 7 edges and the lines hold 1",
    ),
    "a byte that is no text": (b"2 1\n2\x00\n1\n", r"g.graph:2:1: error: `2\x00` is not a whole number"),
    "two weights of an edge": (
        b"2 1 001\n2 5\n1 6\n",
        "g.graph:2:1: error: the edge between tasks 1 and 2 weighs 5 here and 6 in line 3",
    ),
}


@pytest.mark.parametrize("case", MESSAGES)
def test_a_bad_file_is_refused_with_the_line_of_the_culprit(case):
    content, message = MESSAGES[case]
    with pytest.raises(UserError) as raised:
        parse_graph(content, "g.graph")
    assert message in str(raised.value)


def test_several_kinds_of_mistakes_are_told_at_once():
    with pytest.raises(UserError) as raised:
        parse_graph(b"3 9 001\n1 5\n8 5\n2 0\n", "g.graph")
    text = str(raised.value)
    for part in ("neighbour of itself", "has the neighbour 8", "weighs nothing"):
        assert part in text


def test_a_mistake_in_a_huge_file_names_its_line_without_quoting_it():
    padding = b"%" + b"x" * (1 << 20) + b"\n"
    with pytest.raises(UserError, match=r"error: g.graph, line 4: task 2 has the neighbour 9"):
        parse_graph(padding + b"2 1\n2\n9\n", "g.graph")


def test_a_file_that_does_not_exist_is_named(tmp_path):
    with pytest.raises(UserError, match=r"cannot read `.*nowhere.graph`: No such file"):
        read_graph(tmp_path / "nowhere.graph")


def test_a_part_file_that_cannot_be_written_is_named(tmp_path):
    with pytest.raises(UserError, match=r"cannot write `.*part.2`"):
        write_partition(tmp_path / "no" / "g.graph.part.2", np.array([0, 1]))
